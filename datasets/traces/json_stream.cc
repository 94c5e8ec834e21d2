#include "datasets/traces/json_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

namespace fs = std::filesystem;

constexpr size_t kChunkBytes = size_t{4} << 20;

struct GzCloser {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

// How many bytes from the beginning end nothing: neither structure nor a string that is not whole.
size_t skip_plain(std::string_view text) {
  static constexpr auto kStops = [] {
    std::array<bool, 256> stops{};
    for (const char c : {'"', '{', '}', '[', ']', ','}) {
      stops[static_cast<unsigned char>(c)] = true;
    }
    return stops;
  }();
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && !kStops[static_cast<unsigned char>(*at)]) {
    ++at;
  }
  return static_cast<size_t>(at - text.data());
}

// The length of the string at the beginning when it is short and whole, as most are; else 0.
size_t short_string(std::string_view text) {
  constexpr size_t kShort = 64;
  const size_t size = std::min(text.size(), kShort);
  for (size_t i = 1; i < size; ++i) {
    if (text[i] == '"') {
      return i + 1;
    }
    if (text[i] == '\\') {
      return 0;
    }
  }
  return 0;
}

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

struct JsonStream::State {
  enum class Place { kStart, kEvents, kTopFields, kDone };

  std::string path;
  std::string list;  // the field that holds the events
  std::unique_ptr<gzFile_s, GzCloser> file;
  std::vector<char> buffer = std::vector<char>(kChunkBytes + kPaddingBytes);
  size_t begin = 0;  // of what is not yet given out
  size_t end = 0;
  bool at_end = false;
  bool in_object = false;  // the events lie in a field of the top object
  int64_t consumed = 0;    // bytes before the buffer's first
  int64_t events = 0;
  std::string key_text;
  Place place = Place::kStart;
  Repairs repairs;

  Status fill();
  StatusOr<bool> have(size_t offset);
  StatusOr<bool> skip_blanks();
  StatusOr<size_t> value_length(bool* complete);
  StatusOr<size_t> skip_string(size_t offset, bool* complete);
  StatusOr<JsonItem> next_event();
  StatusOr<JsonItem> next_field();
  Status start();
  JsonItem finish(std::string_view reason);
};

// Reads one more chunk behind what is left. A damaged file counts as cut off.
Status JsonStream::State::fill() {
  if (at_end) {
    return ok_status();
  }
  if (file == nullptr) {
    at_end = true;
    return ok_status();
  }
  std::memmove(buffer.data(), buffer.data() + begin, end - begin);
  consumed += static_cast<int64_t>(begin);
  end -= begin;
  begin = 0;
  if (end + kChunkBytes / 2 + kPaddingBytes > buffer.size()) {
    buffer.resize(buffer.size() * 2);
  }
  const size_t room = buffer.size() - kPaddingBytes - end;
  const int count = gzread(file.get(), buffer.data() + end, static_cast<unsigned>(room));
  int code = Z_OK;
  const char* const message = gzerror(file.get(), &code);
  if (count < 0 || (code != Z_OK && code != Z_STREAM_END)) {
    at_end = true;
    repairs.cut_off = true;
    repairs.cut_off_reason = code == Z_ERRNO ? std::strerror(errno) : message;
    if (events == 0) {
      return invalid_input(
          fmt::format("{}: cannot be read: {}; the file may be damaged, copy or download it again",
                      path, repairs.cut_off_reason));
    }
    return ok_status();
  }
  at_end = count == 0;
  end += static_cast<size_t>(count);
  return ok_status();
}

// Whether there is a byte `offset` after the beginning, reading on where needed.
StatusOr<bool> JsonStream::State::have(size_t offset) {
  while (begin + offset >= end && !at_end) {
    DFSIM_RETURN_IF_ERROR(fill());
  }
  return begin + offset < end;
}

// To the next byte that is no blank; false at the end of the file.
StatusOr<bool> JsonStream::State::skip_blanks() {
  while (true) {
    while (begin < end && is_blank(buffer[begin])) {
      ++begin;
    }
    if (begin < end) {
      return true;
    }
    DFSIM_ASSIGN_OR_RETURN(const bool more, have(0));
    if (!more) {
      return false;
    }
  }
}

// The offset behind the string that starts at `offset`.
StatusOr<size_t> JsonStream::State::skip_string(size_t offset, bool* complete) {
  ++offset;
  while (true) {
    const char* const from = buffer.data() + begin + offset;
    const size_t size = begin + offset < end ? end - begin - offset : 0;
    const auto* const quote =
        static_cast<const char*>(size == 0 ? nullptr : std::memchr(from, '"', size));
    if (quote != nullptr) {
      offset += static_cast<size_t>(quote - from) + 1;
      size_t slashes = 0;
      while (slashes + 2 <= offset && buffer[begin + offset - 2 - slashes] == '\\') {
        ++slashes;
      }
      if (slashes % 2 == 0) {
        return offset;
      }
      continue;
    }
    offset += size;
    if (offset > kMaxItemBytes) {
      *complete = false;
      return offset;
    }
    DFSIM_ASSIGN_OR_RETURN(const bool more, have(offset));
    if (!more) {
      *complete = false;
      return offset;
    }
  }
}

// The length of the value at the beginning; incomplete when the file ends inside it or it is too
// long.
StatusOr<size_t> JsonStream::State::value_length(bool* complete) {
  *complete = true;
  size_t offset = 0;
  int64_t depth = 0;
  while (true) {
    if (begin + offset >= end) {
      DFSIM_ASSIGN_OR_RETURN(const bool more, have(offset));
      if (!more || offset > kMaxItemBytes) {
        *complete = !more && depth == 0 && offset > 0;
        return offset;
      }
    }
    // Most bytes are in strings, and most strings are short and whole.
    offset += skip_plain({buffer.data() + begin + offset, end - begin - offset});
    if (begin + offset >= end) {
      continue;
    }
    const char c = buffer[begin + offset];
    switch (c) {
      case '"': {
        if (const size_t length =
                short_string({buffer.data() + begin + offset, end - begin - offset});
            length > 0) {
          offset += length;
        } else {
          DFSIM_ASSIGN_OR_RETURN(offset, skip_string(offset, complete));
        }
        if (!*complete || depth == 0) {
          return offset;
        }
        break;
      }
      case '{':
      case '[':
        ++depth;
        ++offset;
        break;
      case '}':
      case ']':
        if (depth == 0) {
          return offset;  // the end of what is around a plain value
        }
        ++offset;
        if (--depth == 0) {
          return offset;
        }
        break;
      case ',':
        if (depth == 0) {
          return offset;
        }
        ++offset;
        break;
      default:
        ++offset;
    }
  }
}

JsonItem JsonStream::State::finish(std::string_view reason) {
  place = Place::kDone;
  if (!reason.empty() && !repairs.cut_off) {
    repairs.cut_off = true;
    repairs.cut_off_reason = reason;
  }
  return {};
}

StatusOr<JsonItem> JsonStream::State::next_event() {
  bool first_comma = events > 0;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, skip_blanks());
    if (!more) {
      return finish("the list of events does not end");
    }
    const char c = buffer[begin];
    if (c == ',') {
      ++begin;
      repairs.commas += first_comma ? 0 : 1;
      first_comma = false;
      continue;
    }
    if (c == ']') {
      ++begin;
      // A comma before the bracket is one too many.
      repairs.commas += events > 0 && !first_comma ? 1 : 0;
      place = in_object ? Place::kTopFields : Place::kDone;
      return JsonItem{JsonItem::Kind::kEnd, "", ""};
    }
    bool complete = true;
    DFSIM_ASSIGN_OR_RETURN(const size_t length, value_length(&complete));
    if (!complete) {
      if (length > kMaxItemBytes) {
        return invalid_input(
            fmt::format("{}: event {} is longer than {} MB; is a quote or bracket "
                        "missing?",
                        path, events + 1, kMaxItemBytes >> 20));
      }
      return finish(fmt::format("it ends inside event {}", events + 1));
    }
    const std::string_view json(buffer.data() + begin, length);
    begin += std::max<size_t>(length, 1);
    if (c != '{') {
      ++repairs.strange_values;
      first_comma = true;
      continue;
    }
    ++events;
    return JsonItem{JsonItem::Kind::kEvent, "", json};
  }
}

StatusOr<JsonItem> JsonStream::State::next_field() {
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, skip_blanks());
    if (!more) {
      return finish("the top object does not end");
    }
    const char c = buffer[begin];
    if (c == '}') {
      ++begin;
      return finish("");
    }
    if (c == ',') {
      ++begin;
      continue;
    }
    bool complete = true;
    DFSIM_ASSIGN_OR_RETURN(const size_t key_length, value_length(&complete));
    if (c != '"' || !complete) {
      return finish("its top object is no JSON");
    }
    const std::string key(buffer.data() + begin + 1, key_length - 2);
    begin += key_length;
    DFSIM_ASSIGN_OR_RETURN(const bool colon, skip_blanks());
    if (!colon || buffer[begin] != ':') {
      return finish("its top object is no JSON");
    }
    ++begin;
    DFSIM_ASSIGN_OR_RETURN(const bool value, skip_blanks());
    if (value && key == list && buffer[begin] == '[') {
      ++begin;
      place = Place::kEvents;
      in_object = true;
      return JsonItem{JsonItem::Kind::kEnd, "", ""};
    }
    DFSIM_ASSIGN_OR_RETURN(const size_t length, value_length(&complete));
    if (!complete) {
      return finish(fmt::format("field \"{}\" {}", printable(key, 40),
                                length > kMaxItemBytes ? "is too long" : "does not end"));
    }
    key_text = key;
    const std::string_view json(buffer.data() + begin, length);
    begin += length;
    return JsonItem{JsonItem::Kind::kField, key_text, json};
  }
}

Status JsonStream::State::start() {
  DFSIM_ASSIGN_OR_RETURN(const bool three, have(2));
  if (three && std::memcmp(buffer.data() + begin, "\xEF\xBB\xBF", 3) == 0) {
    begin += 3;
  }
  DFSIM_ASSIGN_OR_RETURN(const bool more, skip_blanks());
  if (!more) {
    return invalid_input(fmt::format("{}: is empty, expected a JSON trace", path));
  }
  const char c = buffer[begin];
  if (c != '[' && c != '{') {
    return invalid_input(fmt::format("{}: begins with '{}', expected a JSON array or object", path,
                                     printable(std::string_view(&buffer[begin], 1))));
  }
  ++begin;
  place = c == '[' ? Place::kEvents : Place::kTopFields;
  return ok_status();
}

JsonStream::JsonStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonStream::JsonStream(JsonStream&&) noexcept = default;
JsonStream& JsonStream::operator=(JsonStream&&) noexcept = default;
JsonStream::~JsonStream() = default;

StatusOr<JsonStream> JsonStream::open(const std::string& path, std::string_view list) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return not_found(fmt::format("{}: no such file; check the path", path));
  }
  if (fs::is_directory(status)) {
    return invalid_input(fmt::format("{}: is a folder, expected a trace file", path));
  }
  auto state = std::make_unique<State>();
  state->path = path;
  state->list = list;
  state->file.reset(gzopen(path.c_str(), "rb"));
  if (state->file == nullptr) {
    return invalid_input(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  gzbuffer(state->file.get(), 1U << 18);
  return JsonStream(std::move(state));
}

JsonStream JsonStream::from_text(std::string name, std::string text, std::string_view list) {
  auto state = std::make_unique<State>();
  state->path = std::move(name);
  state->list = list;
  state->buffer.assign(text.begin(), text.end());
  state->buffer.resize(text.size() + kPaddingBytes);
  state->end = text.size();
  return JsonStream(std::move(state));
}

StatusOr<JsonItem> JsonStream::next() {
  State& s = *state_;
  if (s.place == State::Place::kStart) {
    DFSIM_RETURN_IF_ERROR(s.start());
  }
  while (s.place != State::Place::kDone) {
    DFSIM_ASSIGN_OR_RETURN(const JsonItem item,
                           s.place == State::Place::kEvents ? s.next_event() : s.next_field());
    if (item.kind != JsonItem::Kind::kEnd) {
      return item;
    }
  }
  return JsonItem{};
}

const JsonStream::Repairs& JsonStream::repairs() const { return state_->repairs; }

int64_t JsonStream::bytes() const { return state_->consumed + static_cast<int64_t>(state_->begin); }

}  // namespace dfsim::inline datasets
