#include "base/json/json_event.h"

#include <algorithm>

namespace dfsim::inline base {

size_t JsonEvent::line() const {
  return first_line + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
}

void append_json_key(std::string& path, std::string_view key) {
  if (!path.empty()) {
    path += '/';
  }
  if (key.empty()) {
    path += "~3";  // else the values inside would seem to stand one level higher
    return;
  }
  for (const char c : key) {
    switch (c) {
      case '~':
        path += "~0";
        break;
      case '/':
        path += "~1";
        break;
      case '*':
        path += "~2";
        break;
      default:
        path += c;
    }
  }
}

std::string_view json_kind_name(JsonEvent::Kind kind) {
  switch (kind) {
    case JsonEvent::Kind::kNull:
      return "null";
    case JsonEvent::Kind::kBool:
      return "true or false";
    case JsonEvent::Kind::kNumber:
      return "a number";
    case JsonEvent::Kind::kString:
      return "a text";
    case JsonEvent::Kind::kBeginObject:
    case JsonEvent::Kind::kEndObject:
      return "an object";
    case JsonEvent::Kind::kBeginArray:
    case JsonEvent::Kind::kEndArray:
      return "an array";
  }
  return "?";
}

}  // namespace dfsim::inline base
