// UBJSON, as XGBoost reads it: objects, counted arrays, typed arrays of numbers, strings.
//
// The caller keeps the nesting in order: key() before each value in an object, exactly as many
// values as an array was said to hold. Lengths are written as 64-bit integers, as XGBoost does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dfsim::inline opmodel {

class UbjsonWriter {
 public:
  void begin_object() { bytes_ += '{'; }
  void end_object() { bytes_ += '}'; }
  UbjsonWriter& key(std::string_view name);
  // An array of `count` values of any kind; nothing closes it.
  void begin_array(size_t count);
  void string(std::string_view text);
  void integer(int32_t value);
  // Typed arrays; `type` is 'U' (8 bits, unsigned), 'I' (16), 'l' (32) or 'L' (64).
  void integers(char type, const std::vector<int32_t>& values);
  void floats(const std::vector<float>& values);

  std::string bytes() && { return std::move(bytes_); }

 private:
  void append(uint64_t value, size_t width);
  void begin_typed(char type, size_t count);

  std::string bytes_;
};

}  // namespace dfsim::inline opmodel
