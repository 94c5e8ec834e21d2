// Reads JSON as a stream of scalars with their paths, with the line of each: no document is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graphs/taskgraph/char_source.h"

namespace dfsim::inline graphs::taskgraph {

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
  // Keys from the root joined by '/', "*" for an element of an array: "tasks/*/cost".
  std::string_view path;

  bool is_scalar() const { return kind < Kind::kBeginObject; }
};

// "null", "a number", "a text", "an object"...
std::string_view json_kind_name(JsonEvent::Kind kind);

class JsonListener {
 public:
  virtual ~JsonListener() = default;
  // A non-OK status stops the stream; the line of the event is put before its message.
  virtual Status on_event(const JsonEvent& event) = 0;
};

// Reads `source` to its end. Errors: kInvalidInput with line for malformed JSON, nesting over 64
// levels, a repeated key of the root, and whatever the listener objects to. O(size); memory O(1).
Status stream_json(CharSource& source, JsonListener& listener);

}  // namespace dfsim::inline graphs::taskgraph
