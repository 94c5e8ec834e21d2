// The values of a JSON file one at a time, in bounded memory, whatever the file's size.
//
// Purpose: the one reader of JSON files for profiles, traces and task graphs. It finds where values
//   end and does not look inside them; json_value.h takes a value apart, json_events.h follows a
//   whole file.
// The caller names the lists whose elements come one by one, by their keys from the root joined by
// '/': "traceEvents", "workflow/specification/tasks". Objects on the way to a list are entered;
// every other field comes as a whole.
// Two ways to treat a broken file. kRepair is for traces, which profilers that were killed leave
// behind: extra commas, elements that are not objects, and a file that ends early are counted, and
// what was read stays. kStrict is for all else: the first error ends the stream with file and line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline base {

struct JsonItem {
  // kOpen and kClose are the beginning and end of a list or of an object that is entered.
  enum class Kind : uint8_t { kElement, kField, kOpen, kClose, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view key;   // of kField and kOpen: the text between the quotes of its key
  std::string_view path;  // as JsonEvent::path: "traceEvents/*"
  std::string_view json;  // valid until the next call; kJsonPaddingBytes behind it may be read
  size_t line = 0;        // where it begins, from 1; only of strict streams
  size_t depth = 0;       // values around it
  bool array = false;     // of kOpen and kClose, and of kEnd where the root is whole: not an object
};

class JsonStream {
 public:
  enum class Mode : uint8_t { kRepair, kStrict };
  // An element that is longer is an error; longer fields end a repaired file.
  static constexpr size_t kMaxItemBytes = size_t{64} << 20;

  // Fills the buffer with up to `size` bytes and gives their number, 0 at the end.
  using Source = std::function<size_t(char* buffer, size_t size)>;

  // Plain or gzip. Errors: kNotFound, kInvalidInput (a folder, unreadable, empty).
  static StatusOr<JsonStream> open(const std::string& path, std::vector<std::string> lists,
                                   Mode mode = Mode::kRepair);
  // From memory, and from what another reader has begun; `name` stands for the path in messages.
  static JsonStream from_text(std::string name, std::string text, std::vector<std::string> lists,
                              Mode mode = Mode::kRepair);
  static JsonStream from_source(std::string name, Source source, std::vector<std::string> lists,
                                Mode mode = Mode::kRepair);
  JsonStream(JsonStream&&) noexcept;
  JsonStream& operator=(JsonStream&&) noexcept;
  ~JsonStream();

  // The root is not given out. Errors (kInvalidInput): neither an array nor an object, damaged gzip
  // before the first element, an element over kMaxItemBytes; strict: anything that is not JSON.
  StatusOr<JsonItem> next();

  struct Repairs {
    int64_t commas = 0;
    int64_t strange_values = 0;
    bool cut_off = false;
    std::string cut_off_reason;
  };
  // `report` hears of the bytes of the file that were read, packed where it is, after each few MB.
  using ReadProgress = std::function<void(int64_t done_bytes, int64_t file_bytes)>;
  void set_progress(ReadProgress report);

  const Repairs& repairs() const;
  const std::string& path() const;
  // Bytes of JSON read so far.
  int64_t bytes() const;

 private:
  struct State;
  explicit JsonStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dfsim::inline base
