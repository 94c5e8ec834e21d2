// Reads events for importers, strictly: measurements that are cut off would be taken for whole
// ones.
#include "datasets/events/event_file.h"

#include <fmt/format.h>

#include "base/json/json_stream.h"

namespace dfsim::inline datasets {

std::string_view TextPool::keep(std::string_view text) {
  if (text.empty()) {
    return "";
  }
  const auto known = known_.find(text);
  if (known != known_.end()) {
    return *known;
  }
  texts_.emplace_back(text);
  known_.insert(texts_.back());
  return texts_.back();
}

Status read_event_file(const std::string& path, const OnEvent& on_event, const OnField& on_field) {
  DFSIM_ASSIGN_OR_RETURN(JsonStream stream, JsonStream::open(path, {std::string(kTraceEventList)},
                                                             JsonStream::Mode::kStrict));
  ChromeEventParser parser;
  ChromeEvent event;
  bool found = false;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const JsonItem item, stream.next());
    switch (item.kind) {
      case JsonItem::Kind::kEnd:
        return found || item.array
                   ? ok_status()
                   : invalid_input(fmt::format("{}: a JSON object without traceEvents", path));
      case JsonItem::Kind::kField:
        on_field(item.key, item.json);
        break;
      case JsonItem::Kind::kElement:
        found = true;
        if (!parser.parse(item.json, &event)) {
          return invalid_input(
              fmt::format("{}:{}: event {} is no JSON object; is the file damaged?", path,
                          item.line, event.index + 1));
        }
        ++event.index;
        on_event(event);
        break;
      case JsonItem::Kind::kOpen:
      case JsonItem::Kind::kClose:
        found = true;
        break;
    }
  }
}

}  // namespace dfsim::inline datasets
