// Follows a strict stream: its items are the values that a listener hears of, those of lists one by
// one, so that memory stays that of one item.
#include "base/json/json_events.h"

#include <fmt/format.h>

#include <set>

#include "base/json/json_stream.h"
#include "base/json/json_value.h"
#include "base/text.h"

namespace dfsim::inline base {

Status read_json_events(JsonStream& stream, JsonListener& listener) {
  using Kind = JsonItem::Kind;
  JsonParser parser;
  std::set<std::string, std::less<>> root_keys;
  const auto at_line = [&stream](size_t line, const Status& status) {
    return status.ok()
               ? status
               : invalid_input(fmt::format("{}:{}: {}", stream.path(), line, status.message()));
  };
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const JsonItem item, stream.next());
    if (item.kind == Kind::kEnd) {
      return ok_status();
    }
    const bool keyed = item.kind == Kind::kField || item.kind == Kind::kOpen;
    if (keyed && item.depth == 1 && !root_keys.emplace(item.key).second) {
      return at_line(item.line, invalid_input(fmt::format("the key '{}' stands twice",
                                                          printable(item.key, 40))));
    }
    if (item.kind == Kind::kField || item.kind == Kind::kElement) {
      const Status status = parser.walk(item.json, item.path, item.depth, item.line, listener);
      if (!status.ok()) {
        return invalid_input(fmt::format("{}:{}", stream.path(), status.message()));
      }
      continue;
    }
    JsonEvent event;
    event.kind = item.kind == Kind::kOpen
                     ? (item.array ? JsonEvent::Kind::kBeginArray : JsonEvent::Kind::kBeginObject)
                     : (item.array ? JsonEvent::Kind::kEndArray : JsonEvent::Kind::kEndObject);
    event.path = item.path;
    event.first_line = item.line;
    DFSIM_RETURN_IF_ERROR(at_line(item.line, listener.on_event(event)));
  }
}

}  // namespace dfsim::inline base
