// Moves a window over a file and finds the ends of JSON values in it: brackets outside strings are
// counted, nothing else of a value is looked at. A value is in the window as a whole when its end
// is found; the window grows for long ones.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/cancellation.h"
#include "base/json/json_window_internal.h"

namespace dfsim::inline base {
namespace {

constexpr size_t kJsonChunkBytes = size_t{4} << 20;

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

bool is_json_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

// The line of the byte at `begin`. Lines are counted in strict streams only: repaired files are
// large, and their messages count events.
size_t JsonWindow::line_here() {
  line += static_cast<size_t>(std::count(buffer.data() + counted, buffer.data() + begin, '\n'));
  counted = begin;
  return line;
}

// Bytes of the file, 0 at its end.
StatusOr<size_t> JsonWindow::read_more(char* to, size_t room) {
  if (source) {
    return source(to, room);
  }
  if (file == nullptr) {
    return size_t{0};
  }
  const int count = gzread(file.get(), to, static_cast<unsigned>(room));
  int code = Z_OK;
  const char* const message = gzerror(file.get(), &code);
  if (count < 0 || (code != Z_OK && code != Z_STREAM_END)) {
    damage = code == Z_ERRNO ? std::strerror(errno) : message;
    if (!keep_damaged) {
      return invalid_input(
          fmt::format("{}: cannot be read: {}; the file may be damaged, copy or download it again",
                      path, damage));
    }
    return size_t{0};
  }
  if (progress) {
    progress(gzoffset(file.get()), file_bytes);
  }
  return static_cast<size_t>(count);
}

// Reads one more chunk behind what is left. A damaged file counts as cut off.
Status JsonWindow::fill() {
  cancellation_point();
  if (at_end) {
    return ok_status();
  }
  if (file == nullptr && !source) {
    at_end = true;
    return ok_status();
  }
  if (count_lines) {
    line_here();
  }
  if (end > begin) {
    std::memmove(buffer.data(), buffer.data() + begin, end - begin);
  }
  consumed += static_cast<int64_t>(begin);
  end -= begin;
  begin = counted = 0;
  if (end + kJsonChunkBytes / 2 + kJsonPaddingBytes > buffer.size()) {
    buffer.resize(std::max(buffer.size() * 2, kJsonChunkBytes + kJsonPaddingBytes));
  }
  auto count = read_more(buffer.data() + end, buffer.size() - kJsonPaddingBytes - end);
  at_end = !count.ok() || *count == 0;
  DFSIM_RETURN_IF_ERROR(count.status());
  end += *count;
  return ok_status();
}

// Whether there is a byte `offset` after the beginning, reading on where needed.
StatusOr<bool> JsonWindow::have(size_t offset) {
  while (begin + offset >= end && !at_end) {
    DFSIM_RETURN_IF_ERROR(fill());
  }
  return begin + offset < end;
}

// Skips to the next byte that is not a blank; false at the end of the file.
StatusOr<bool> JsonWindow::skip_blanks() {
  while (true) {
    while (begin < end && is_json_blank(buffer[begin])) {
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
StatusOr<size_t> JsonWindow::skip_string(size_t offset, bool* complete) {
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
    if (offset > kMaxBytes) {
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
StatusOr<size_t> JsonWindow::value_length(bool* complete) {
  *complete = true;
  size_t offset = 0;
  int64_t depth = 0;
  while (true) {
    if (begin + offset >= end) {
      DFSIM_ASSIGN_OR_RETURN(const bool more, have(offset));
      if (!more || offset > kMaxBytes) {
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
        if (++depth > max_depth) {
          return invalid_input(
              fmt::format("{}:{}: nested over {} levels deep", path, line_here(), max_depth));
        }
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

}  // namespace dfsim::inline base
