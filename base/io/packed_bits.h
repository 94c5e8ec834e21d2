// Bits in binary tables, the lowest of a byte first: numbers of a given width, and Rice's code of
// numbers most of which are about as large (Rice 1979, JPL Publication 79-22): the high bits as so
// many ones and a zero, the low bits as they are.
//
// Errors: a reader that finds fewer bits than asked for, or a number above `most`, returns false.
// Complexity: constant per number, and one step per 32 ones of a Rice code.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace dfsim::inline base {

class BitWriter {
 public:
  // The lowest `width` bits, at most 56.
  void append(uint64_t value, int width) {
    pending_ |= (value & ((uint64_t{1} << width) - 1)) << held_;
    for (held_ += width; held_ >= 8; held_ -= 8) {
      bytes_.push_back(static_cast<char>(pending_));
      pending_ >>= 8;
    }
  }
  // `low` is the number of low bits.
  void append_rice(uint64_t value, int low) {
    for (uint64_t high = value >> low; high > 0; --high) {
      append(1, 1);
    }
    append(0, 1);
    append(value, low);
  }
  // The last byte is filled up with zeros.
  std::string bytes() && {
    append(0, held_ == 0 ? 0 : 8 - held_);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  uint64_t pending_ = 0;
  int held_ = 0;  // bits in `pending_`, below 8 between calls
};

class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}

  // `width` is at most 56.
  bool take(int width, uint64_t* value) {
    fill();
    if (held_ < width) {
      return false;
    }
    *value = pending_ & ((uint64_t{1} << width) - 1);
    drop(width);
    return true;
  }
  bool take_rice(int low, uint64_t most, uint64_t* value) {
    uint64_t high = 0;
    while (true) {
      fill();
      const int ones = std::min(std::countr_one(pending_), held_);
      high += static_cast<uint64_t>(ones);
      if (held_ == 0 || high > most >> low) {
        return false;
      }
      drop(ones);
      if (held_ > 0 && (pending_ & 1U) == 0) {
        drop(1);
        break;
      }
    }
    uint64_t rest = 0;
    if (!take(low, &rest)) {
      return false;
    }
    *value = high << low | rest;
    return *value <= most;
  }
  // Whole bytes behind the last bit taken.
  std::string_view rest() const { return bytes_.substr(at_ - static_cast<size_t>(held_) / 8); }

 private:
  void fill() {
    for (; held_ <= 56 && at_ < bytes_.size(); held_ += 8) {
      pending_ |= uint64_t{static_cast<unsigned char>(bytes_[at_++])} << held_;
    }
  }
  void drop(int count) {
    pending_ = count == 64 ? 0 : pending_ >> count;
    held_ -= count;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  uint64_t pending_ = 0;
  int held_ = 0;  // bits in `pending_`
};

}  // namespace dfsim::inline base
