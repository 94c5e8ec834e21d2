// The events of a profile in the Trace Event Format, for importers: a broken file is an error.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/status.h"
#include "datasets/events/chrome_event.h"

namespace dfsim::inline datasets {

// Texts of events that are kept, each once: the events themselves are gone after their call.
class TextPool {
 public:
  // Equal to `text`, and lives as long as the pool. "" costs nothing.
  std::string_view keep(std::string_view text);

 private:
  std::deque<std::string> texts_;
  std::unordered_set<std::string_view> known_;
};

using OnEvent = std::function<void(const ChromeEvent&)>;
using OnField = std::function<void(std::string_view key, std::string_view json)>;

// Calls `on_event` for each element of the top array or of its "traceEvents", and `on_field` for
// each other field of a top object; texts live until the call returns. Memory: one event. Errors:
// JsonStream's; kInvalidInput for what is no JSON or cut off (with line and event), and for an
// object without "traceEvents".
Status read_event_file(const std::string& path, const OnEvent& on_event, const OnField& on_field);

}  // namespace dfsim::inline datasets
