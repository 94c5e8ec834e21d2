#include "base/units.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace dfsim {
namespace {

TEST_CASE(
    "format_time, format_bytes, format_count: print three significant digits and a fitting unit") {
  CHECK(format_time(0) == "0 ns");
  CHECK(format_time(999) == "999 ns");
  CHECK(format_time(1'234) == "1.23 us");
  CHECK(format_time(12'345'678) == "12.3 ms");
  CHECK(format_time(999'999) == "1.00 ms");
  CHECK(format_time(3'000'000'000) == "3.00 s");
  CHECK(format_bytes(97'500'000) == "97.5 MB");
  CHECK(format_bytes(12) == "12 B");
  CHECK(format_count(4.089e9) == "4.09 G");
  CHECK(format_count(25) == "25");
  CHECK(format_count(4.089e9, "MACs") == "4.09 GMACs");
  CHECK(format_count(16, "MACs") == "16 MACs");
}

TEST_CASE("Count: saturates and sets its flag when it overflows") {
  const Count big(std::numeric_limits<int64_t>::max());
  CHECK_FALSE(big.overflowed());
  CHECK((big + Count(1)).overflowed());
  CHECK((big + Count(1)).value() == std::numeric_limits<int64_t>::max());
  CHECK((big * Count(2)).overflowed());
  CHECK_FALSE((Count(3) * Count(4)).overflowed());
  CHECK((Count(3) * Count(4)).value() == 12);
  // Once overflowed, a later multiplication by zero does not hide it.
  CHECK((big * Count(2) * Count(0)).overflowed());
}

TEST_CASE("ns_from_seconds: never returns a negative time, nor zero for NaN") {
  CHECK(ns_from_seconds(1.5e-9) == 2);
  CHECK(ns_from_seconds(-1) == 0);
  CHECK(ns_from_seconds(1e30) == std::numeric_limits<TimeNs>::max());
  CHECK(ns_from_seconds(std::nan("")) == std::numeric_limits<TimeNs>::max());
}

}  // namespace
}  // namespace dfsim
