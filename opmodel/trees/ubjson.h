// UBJSON, as far as XGBoost writes it: a bounds-checked pull reader.
//
// The caller walks the file: at each value it asks for an object, an array, a number or skips.
// Nothing is copied but what is asked for. Damaged or truncated input ends in ok() == false; every
// later call then does nothing. Specification: ubjson.org, draft 12 (big-endian numbers, optimised
// arrays `[$type#count`).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dfsim::inline opmodel {

class UbjsonReader {
 public:
  explicit UbjsonReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t position() const { return at_; }

  // An object: begin_object(), then for each member next_key() and its value, until next_key()
  // returns false at the closing brace.
  bool begin_object();
  bool next_key(std::string_view& key);
  // An array of anything: begin_array(), then values while next_item() returns true, with the same
  // `left` (values still to come, or kUncounted). Typed arrays cannot be walked so: read them
  // whole.
  static constexpr int64_t kUncounted = -1;
  bool begin_array(int64_t& left);
  bool next_item(int64_t& left);

  bool read_string(std::string_view& text);
  // A whole array of numbers of any width, converted.
  bool read_numbers(std::vector<float>& out);
  bool read_numbers(std::vector<int32_t>& out);
  // Passes over one value of any kind.
  bool skip();

 private:
  bool fail() {
    ok_ = false;
    return false;
  }
  bool take(char expected);
  char peek() const { return at_ < bytes_.size() ? bytes_[at_] : '\0'; }
  bool read_length(int64_t& length);
  bool read_integer(char type, int64_t& value);
  bool read_double(char type, double& value);
  bool skip_value(char type, int depth);
  bool skip_array(int depth);
  template <typename T>
  bool read_numbers_as(std::vector<T>& out);

  std::string_view bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace dfsim::inline opmodel
