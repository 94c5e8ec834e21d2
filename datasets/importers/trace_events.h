// Events of a Chrome-style JSON trace, one after another. simdjson stays inside trace_events.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dfsim::inline datasets {

// Texts point into the file and live as long as its TraceEvents. Times are in microseconds, -1 when
// the event has none. Values of `args` are JSON text as it stands in the file.
struct TraceEvent {
  int64_t index = 0;  // from 1, in the order of the file
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view thread;  // JSON text: a number or a quoted name
  double start_us = -1;
  double duration_us = -1;
  std::vector<std::pair<std::string_view, std::string_view>> args;

  // The value of an argument, or "".
  std::string_view arg(std::string_view key) const;
};

// The text of a JSON string without its quotes (escapes are left as they are); other values as they
// stand.
std::string_view unquote_json(std::string_view json);
// Elements of a JSON array, as JSON text each; empty when `json` is no array.
std::vector<std::string_view> split_json_array(std::string_view json);
// Numbers from -1 to kMaxExtent of a flat JSON array such as [1, 3, 224]; false when it is
// something else.
bool parse_json_extents(std::string_view json, std::vector<int64_t>* extents);

class TraceEvents {
 public:
  // Reads the file, plain or gzip. Errors: read_text_file()'s; kInvalidInput for an empty file.
  static StatusOr<TraceEvents> open(const std::string& path);
  TraceEvents(TraceEvents&&) noexcept;
  ~TraceEvents();

  using OnEvent = std::function<void(const TraceEvent&)>;
  using OnField = std::function<void(std::string_view key, std::string_view json)>;
  // Calls `on_event` for each element of the top array or of its "traceEvents", and `on_field` for
  // each other key of a top object. Once per TraceEvents. Error (kInvalidInput): not JSON, cut off,
  // or neither form; names the event it happened at.
  Status for_each(const OnEvent& on_event, const OnField& on_field);

 private:
  struct State;
  explicit TraceEvents(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dfsim::inline datasets
