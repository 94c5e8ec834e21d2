// The values of a JSON trace one at a time, in bounded memory, whatever the file's size, and
// forgiving where people's files are broken.
//
// The file is either an array of events or an object with such an array ("traceEvents", or another
// list that the format has) among other fields. Only the ends of values are searched here; what is
// inside a value is not looked at. Recovered and counted: commas too many (trailing, doubled),
// values between events that are no objects, a file that ends inside or before the array's end
// (profilers that were killed).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline datasets {

struct JsonItem {
  enum class Kind { kEvent, kField, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view key;   // of a field: the text between its quotes
  std::string_view json;  // valid until the next call; kPaddingBytes behind it may be read
};

class JsonStream {
 public:
  // Bytes that are readable behind every item, as simdjson wants them.
  static constexpr size_t kPaddingBytes = 64;
  // A longer event is no event; longer fields are skipped.
  static constexpr size_t kMaxItemBytes = size_t{64} << 20;

  static constexpr std::string_view kTraceEvents = "traceEvents";

  // Plain or gzip. `list` is the field that holds the events. Errors: kNotFound, kInvalidInput (a
  // folder, unreadable, empty).
  static StatusOr<JsonStream> open(const std::string& path, std::string_view list = kTraceEvents);
  // From memory, for tests and fuzzing. `name` stands for the path in messages.
  static JsonStream from_text(std::string name, std::string text,
                              std::string_view list = kTraceEvents);
  JsonStream(JsonStream&&) noexcept;
  JsonStream& operator=(JsonStream&&) noexcept;
  ~JsonStream();

  // Error (kInvalidInput): neither an array nor an object, damaged gzip before the first event, an
  // event over kMaxItemBytes.
  StatusOr<JsonItem> next();

  struct Repairs {
    int64_t commas = 0;
    int64_t strange_values = 0;
    bool cut_off = false;
    std::string cut_off_reason;
  };
  const Repairs& repairs() const;
  // Bytes of JSON read so far.
  int64_t bytes() const;

 private:
  struct State;
  explicit JsonStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dfsim::inline datasets
