// JsonEvent: one value of a JSON file, with its path and line, and the interface of those who
// listen to a sequence of them (json_events.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline base {

inline constexpr size_t kMaxJsonDepth = 64;

// One value: a scalar, or the beginning or end of an object or array.
struct JsonEvent {
  enum class Kind : uint8_t {
    kNull,
    kBool,
    kNumber,
    kString,
    kBeginObject,
    kEndObject,
    kBeginArray,
    kEndArray,
  };
  Kind kind = Kind::kNull;
  double number = 0;  // also 0 or 1 for kBool
  std::string_view text;
  // Keys from the root joined by '/', "*" for an element of an array: "tasks/*/cost". Keys are
  // escaped as append_json_key() does it, so that no key of a file reads like a longer path.
  std::string_view path;
  // The text from `first_line` on up to the value; see line().
  std::string_view before;
  size_t first_line = 1;

  bool is_scalar() const { return kind < Kind::kBeginObject; }
  // The line of the file, from 1. O(bytes of `before`).
  size_t line() const;
};

// Appends the key of an object to a path: "~0" stands for '~' and "~1" for '/', as in JSON pointers
// (RFC 6901), "~2" for '*', and "~3" for the empty key. Without this the key "links/" of a damaged
// file would pass for an element of "links". O(key).
void append_json_key(std::string& path, std::string_view key);

// "null", "a number", "a text", "an object"...
std::string_view json_kind_name(JsonEvent::Kind kind);

class JsonListener {
 public:
  virtual ~JsonListener() = default;
  // A status that is not ok stops the stream, which puts the file and the line before its message.
  virtual Status on_event(const JsonEvent& event) = 0;
};

}  // namespace dfsim::inline base
