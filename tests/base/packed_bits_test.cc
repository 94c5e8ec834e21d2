// Rice's code, with bits written out by hand.
#include "base/io/packed_bits.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dfsim {
namespace {

TEST_CASE("BitWriter: Rice's code has the high bits as ones and the low ones as they are") {
  BitWriter writer;
  writer.append_rice(1, 1);  // 0 1
  writer.append_rice(4, 1);  // 1 1 0 0
  writer.append(0b101, 3);   // 1 0 1
  // The first bit is the lowest: 0b0100'1110, then 0b1.
  CHECK(std::move(writer).bytes() == std::string("\x4e\x01"));
}

TEST_CASE("BitReader: numbers of any size come back, and the bytes behind them") {
  const std::vector<uint64_t> values{0, 1, 7, 8, 130, 5000, (uint64_t{1} << 40) - 1};
  for (const int low : {0, 3, 12, 40}) {
    BitWriter writer;
    size_t count = 0;
    for (const uint64_t value : values) {
      if (value >> low < 6000) {  // a code of 2^40 ones is too long
        writer.append_rice(value, low);
        ++count;
      }
    }
    const std::string bytes = std::move(writer).bytes() + "after the bits";
    BitReader reader(bytes);
    for (size_t i = 0; i < count; ++i) {
      uint64_t value = 0;
      REQUIRE(reader.take_rice(low, values.back(), &value));
      CHECK(value == values[i]);
    }
    CHECK(reader.rest() == "after the bits");
  }
}

TEST_CASE("BitReader: bits that end early and numbers that are too large are refused") {
  uint64_t value = 0;
  CHECK_FALSE(BitReader("").take(1, &value));
  CHECK_FALSE(BitReader("").take_rice(0, 9, &value));
  CHECK_FALSE(BitReader("\xff\xff").take_rice(0, 99, &value));  // the zero is missing
  CHECK_FALSE(BitReader("\x0f").take_rice(5, 999, &value));     // low bits are missing
  CHECK_FALSE(BitReader("\x0f").take_rice(0, 3, &value));       // 4
  CHECK(BitReader("\x0f").take_rice(0, 4, &value));
  CHECK(value == 4);
}

}  // namespace
}  // namespace dfsim
