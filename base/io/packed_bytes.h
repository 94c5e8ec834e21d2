// Numbers in binary tables: plain little-endian values, and unsigned integers in as few bytes as
// they need.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dfsim::inline base {

template <typename T>
void append_value(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes a value from the front of `bytes`; false where they end before it.
template <typename T>
bool take_value(std::string_view& bytes, T* value) {
  if (bytes.size() < sizeof(T)) {
    return false;
  }
  std::memcpy(value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return true;
}

// Seven bits a byte, the lowest first; the highest bit says that more follow.
inline void append_varint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    bytes.push_back(static_cast<char>(value | 0x80));
  }
  bytes.push_back(static_cast<char>(value));
}

// Takes one from the front of `bytes`; false where they end within it, or it is above `most`.
inline bool take_varint(std::string_view& bytes, uint64_t most, uint64_t* value) {
  uint64_t number = 0;
  for (int shift = 0; shift < 63 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      *value = number;
      return number <= most;
    }
  }
  return false;
}

}  // namespace dfsim::inline base
