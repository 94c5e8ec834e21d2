// A pull reader over a byte range that it never leaves: each step checks the length first and
// clears the range on damage, so that later calls stop at once. UBJSON is big-endian. Depth is
// limited, because skip() recurses.
#include "opmodel/trees/ubjson.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

namespace dfsim::inline opmodel {

namespace {

constexpr int kMaxDepth = 64;

// Bytes of a fixed-width number, or 0 when `type` is none.
size_t number_width(char type) {
  switch (type) {
    case 'i':
    case 'U':
      return 1;
    case 'I':
      return 2;
    case 'l':
    case 'd':
      return 4;
    case 'L':
    case 'D':
      return 8;
    default:
      return 0;
  }
}

uint64_t big_endian(const char* bytes, size_t width) {
  uint64_t value = 0;
  switch (width) {
    case 4: {
      uint32_t word = 0;
      std::memcpy(&word, bytes, sizeof word);
      return __builtin_bswap32(word);
    }
    case 8:
      std::memcpy(&value, bytes, sizeof value);
      return __builtin_bswap64(value);
    default:
      for (size_t i = 0; i < width; ++i) {
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
      }
      return value;
  }
}

// A whole number cannot be NaN or beyond its type, as damaged files say: those become 0.
template <typename T>
T in_range(double value) {
  if constexpr (std::is_integral_v<T>) {
    const bool fits = value > static_cast<double>(std::numeric_limits<T>::min()) &&
                      value < static_cast<double>(std::numeric_limits<T>::max());
    return fits ? static_cast<T>(value) : T{0};
  } else {
    return static_cast<T>(value);
  }
}

// The number of `type` at `bytes`, which hold number_width(type).
template <typename T>
T number_at(char type, const char* bytes) {
  const uint64_t raw = big_endian(bytes, number_width(type));
  switch (type) {
    case 'i':
      return static_cast<T>(static_cast<int8_t>(raw));
    case 'U':
      return static_cast<T>(static_cast<uint8_t>(raw));
    case 'I':
      return static_cast<T>(static_cast<int16_t>(raw));
    case 'l':
      return static_cast<T>(static_cast<int32_t>(raw));
    case 'L':
      return static_cast<T>(static_cast<int64_t>(raw));
    case 'd':
      return in_range<T>(std::bit_cast<float>(static_cast<uint32_t>(raw)));
    default:
      return in_range<T>(std::bit_cast<double>(raw));
  }
}

}  // namespace

bool UbjsonReader::take(char expected) {
  if (!ok_ || peek() != expected) {
    return fail();
  }
  ++at_;
  return true;
}

bool UbjsonReader::read_integer(char type, int64_t& value) {
  const size_t width = number_width(type);
  if (!ok_ || width == 0 || type == 'd' || type == 'D' || bytes_.size() - at_ < width) {
    return fail();
  }
  value = number_at<int64_t>(type, bytes_.data() + at_);
  at_ += width;
  return true;
}

bool UbjsonReader::read_length(int64_t& length) {
  if (!ok_ || at_ >= bytes_.size()) {
    return fail();
  }
  const char type = bytes_[at_++];
  return read_integer(type, length) && (length >= 0 || fail());
}

bool UbjsonReader::begin_object() { return take('{'); }

bool UbjsonReader::next_key(std::string_view& key) {
  if (!ok_) {
    return false;
  }
  if (peek() == '}') {
    ++at_;
    return false;
  }
  int64_t length = 0;
  if (!read_length(length) || bytes_.size() - at_ < static_cast<size_t>(length)) {
    return fail();
  }
  key = bytes_.substr(at_, static_cast<size_t>(length));
  at_ += static_cast<size_t>(length);
  return true;
}

bool UbjsonReader::begin_array(int64_t& left) {
  left = kUncounted;
  if (!take('[')) {
    return false;
  }
  if (peek() == '#') {
    ++at_;
    return read_length(left);
  }
  return peek() != '$' || fail();
}

bool UbjsonReader::next_item(int64_t& left) {
  if (!ok_) {
    return false;
  }
  if (left != kUncounted) {
    if (left == 0) {
      return false;
    }
    --left;
  } else if (peek() == ']') {
    ++at_;
    return false;
  }
  return at_ < bytes_.size() || fail();
}

bool UbjsonReader::read_string(std::string_view& text) {
  int64_t length = 0;
  if (!take('S') || !read_length(length) || bytes_.size() - at_ < static_cast<size_t>(length)) {
    return fail();
  }
  text = bytes_.substr(at_, static_cast<size_t>(length));
  at_ += static_cast<size_t>(length);
  return true;
}

template <typename T>
bool UbjsonReader::read_numbers_as(std::vector<T>& out) {
  out.clear();
  if (bytes_.substr(std::min(at_, bytes_.size())).starts_with("[$")) {
    at_ += 2;
    const char type = peek();
    const size_t width = number_width(type);
    ++at_;
    int64_t count = 0;
    if (width == 0 || !take('#') || !read_length(count) ||
        (bytes_.size() - at_) / width < static_cast<size_t>(count)) {
      return fail();
    }
    out.resize(static_cast<size_t>(count));
    const char* data = bytes_.data() + at_;
    if (type == 'U') {  // most of the numbers of a file: a loop that compilers vectorise
      std::transform(data, data + out.size(), out.begin(),
                     [](char byte) { return static_cast<T>(static_cast<unsigned char>(byte)); });
    } else {
      for (T& value : out) {
        value = number_at<T>(type, data);
        data += width;
      }
    }
    at_ += out.size() * width;
    return true;
  }
  int64_t left = 0;
  begin_array(left);
  while (next_item(left)) {
    const char type = bytes_[at_++];
    const size_t width = number_width(type);
    if (width == 0 || bytes_.size() - at_ < width) {
      return fail();
    }
    out.push_back(number_at<T>(type, bytes_.data() + at_));
    at_ += width;
  }
  return ok_;
}

bool UbjsonReader::read_numbers(std::vector<float>& out) { return read_numbers_as(out); }
bool UbjsonReader::read_numbers(std::vector<int32_t>& out) { return read_numbers_as(out); }

bool UbjsonReader::skip_array(int depth) {
  if (bytes_.substr(at_).starts_with("[$")) {
    at_ += 2;
    const size_t width = number_width(peek());
    ++at_;
    int64_t count = 0;
    if (width == 0 || !take('#') || !read_length(count) ||
        (bytes_.size() - at_) / width < static_cast<size_t>(count)) {
      return fail();
    }
    at_ += static_cast<size_t>(count) * width;
    return true;
  }
  int64_t left = 0;
  begin_array(left);
  while (next_item(left)) {
    if (!skip_value(bytes_[at_++], depth + 1)) {
      return fail();
    }
  }
  return ok_;
}

bool UbjsonReader::skip() {
  if (!ok_ || at_ >= bytes_.size()) {
    return fail();
  }
  return skip_value(bytes_[at_++], 0);
}

bool UbjsonReader::skip_value(char type, int depth) {
  if (depth > kMaxDepth) {
    return fail();
  }
  if (const size_t width = number_width(type); width > 0) {
    if (bytes_.size() - at_ < width) {
      return fail();
    }
    at_ += width;
    return true;
  }
  switch (type) {
    case 'T':
    case 'F':
    case 'Z':
      return true;
    case 'C':
      return at_ < bytes_.size() ? (++at_, true) : fail();
    case 'S': {
      --at_;
      std::string_view text;
      return read_string(text);
    }
    case '{': {
      std::string_view key;
      while (next_key(key)) {
        if (at_ >= bytes_.size() || !skip_value(bytes_[at_++], depth + 1)) {
          return fail();
        }
      }
      return ok_;
    }
    case '[': {
      --at_;
      return skip_array(depth);
    }
    default:
      return fail();
  }
}

}  // namespace dfsim::inline opmodel
