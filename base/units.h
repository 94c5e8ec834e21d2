// Units: what raw numbers mean, arithmetic on counts that cannot overflow silently, and how
// quantities are shown to people. Times are integer nanoseconds inside, human units outside.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace dfsim::inline base {

using TimeNs = int64_t;  // a duration or a point on a simulation's clock, in nanoseconds
using Bytes = int64_t;
using Flops = int64_t;  // a number of floating-point operations (not a rate)

inline constexpr TimeNs kNsPerUs = 1'000;
inline constexpr TimeNs kNsPerMs = 1'000'000;
inline constexpr TimeNs kNsPerSecond = 1'000'000'000;

// A non-negative count whose arithmetic remembers that it overflowed. Sums and products of counts
// saturate at INT64_MAX and set `overflowed`, which whoever reports the count must look at.
class Count {
 public:
  constexpr Count() = default;
  constexpr Count(int64_t value) : value_(value) {}  // NOLINT: counts are written as numbers

  constexpr int64_t value() const { return value_; }
  constexpr bool overflowed() const { return overflowed_; }

  constexpr Count& operator+=(Count other) {
    overflowed_ =
        overflowed_ || other.overflowed_ || __builtin_add_overflow(value_, other.value_, &value_);
    saturate();
    return *this;
  }
  constexpr Count& operator*=(Count other) {
    overflowed_ =
        overflowed_ || other.overflowed_ || __builtin_mul_overflow(value_, other.value_, &value_);
    saturate();
    return *this;
  }
  friend constexpr Count operator+(Count a, Count b) { return a += b; }
  friend constexpr Count operator*(Count a, Count b) { return a *= b; }
  friend constexpr bool operator==(Count a, Count b) = default;

 private:
  constexpr void saturate() {
    if (overflowed_) {
      value_ = std::numeric_limits<int64_t>::max();
    }
  }

  int64_t value_ = 0;
  bool overflowed_ = false;
};

// Seconds (a model's output) to the clock's nanoseconds: rounded to nearest, at least 0,
// saturating. NaN becomes INT64_MAX: a cost that is not a number must never look cheap.
TimeNs ns_from_seconds(double seconds);

// "1.23 ms", "45.6 us", "3.00 s": three significant digits, unit chosen by size.
std::string format_time(TimeNs time_ns);
// "97.5 MB": decimal units, as data sheets use them.
std::string format_bytes(Bytes bytes);
// "4.09 G": a count with a decimal prefix (k M G T P) and no unit.
std::string format_count(double count);
// The same with a unit: "4.09 GMACs", "16 MACs".
std::string format_count(double count, std::string_view unit);

}  // namespace dfsim::inline base
