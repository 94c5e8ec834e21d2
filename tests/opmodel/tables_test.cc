#include <catch2/catch.hpp>
#include <cmath>

#include "base/rng.h"
#include "opmodel/model/lookup_table.h"
#include "opmodel/model/scaling_table.h"

namespace dfsim {
namespace {

TEST_CASE("a lookup table finds what was put in, with the median of repeats, after a round trip") {
  const LookupTable table({{7, 1.0F}, {3, 9.0F}, {7, 2.0F}, {7, 50.0F}});
  const auto loaded = LookupTable::parse(table.serialize(), "lookup.bin");
  REQUIRE(loaded.ok());
  CHECK(loaded->size() == 2);
  CHECK(loaded->find_us(7) == 2.0);
  CHECK(loaded->find_us(3) == 9.0);
  CHECK_FALSE(loaded->find_us(4).has_value());
}

TEST_CASE("damaged tables are errors") {
  const std::string bytes = LookupTable({{7, 1.0F}, {3, 9.0F}}).serialize();
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(LookupTable::parse(bytes.substr(0, size), "cut").ok());
  }
  CHECK_FALSE(LookupTable::parse(bytes + "x", "long").ok());
  std::string swapped = bytes;
  std::swap(swapped[16], swapped[24]);  // keys 3 and 7 out of order
  CHECK_FALSE(LookupTable::parse(swapped, "swapped").ok());
}

OpDescriptor conv_at(int64_t batch) {
  OpDescriptor op;
  op.op_type = "Conv2D";
  op.input_extents = {{batch, 64, 56, 56}, {64, 64, 3, 3}};
  op.output_extents = {{batch, 64, 56, 56}};
  op.input_dtypes = {DType::kFloat16, DType::kFloat16};
  op.output_dtypes = {DType::kFloat16};
  return op;
}

TEST_CASE("of an even number of repeats the mean of the middle two stays") {
  CHECK(LookupTable({{7, 1.0F}, {7, 3.0F}}).find_us(7) == 2.0);
}

TEST_CASE("between two batch sizes time is affine in the batch") {
  ScalingTable table;
  table.add(conv_at(32), "npu", 100);
  table.add(conv_at(128), "npu", 340);  // 20 + 2.5 b
  const auto at64 = table.estimate(conv_at(64), "npu");
  REQUIRE(at64.has_value());
  CHECK(at64->time_us == Approx(180));
  CHECK(at64->interpolated);
  // 2/3 of the one and 1/3 of the other, each with a noise of its own.
  CHECK(at64->noise_gain == Approx(std::hypot(200.0 / 3, 340.0 / 3) / 180));
  const auto at256 = table.estimate(conv_at(256), "npu");
  REQUIRE(at256.has_value());
  CHECK(at256->time_us == Approx(660));
  CHECK_FALSE(at256->interpolated);
  // -4/3 and 7/3: what lies beyond is noisier than any measurement.
  CHECK(at256->noise_gain == Approx(std::hypot(400.0 / 3, 2380.0 / 3) / 660));
  CHECK(at256->distance == Approx(2));
  ScalingTable often;
  often.add(conv_at(32), "npu", 100, 4);
  often.add(conv_at(128), "npu", 340, 4);
  CHECK(often.estimate(conv_at(64), "npu")->noise_gain == Approx(at64->noise_gain / 2));
  // Another device, or one measured batch size only: nothing.
  CHECK_FALSE(table.estimate(conv_at(64), "other").has_value());
  ScalingTable single;
  single.add(conv_at(32), "npu", 100);
  CHECK_FALSE(single.estimate(conv_at(64), "npu").has_value());
}

TEST_CASE("another number of channels is not another batch size") {
  ScalingTable table;
  table.add(conv_at(32), "npu", 100);
  table.add(conv_at(128), "npu", 340);
  OpDescriptor wide = conv_at(64);
  wide.input_extents[0][1] = 256;  // 64 -> 256, while the batch doubles
  CHECK_FALSE(table.estimate(wide, "npu").has_value());
}

TEST_CASE("the nearest sizes around the wanted one decide, whatever network has them") {
  ScalingTable table;
  table.add(conv_at(8), "npu", 77);
  table.add(conv_at(48), "npu", 100);
  table.add(conv_at(80), "npu", 160);  // 10 + 1.875 b
  table.add(conv_at(512), "npu", 9999);
  CHECK(table.estimate(conv_at(64), "npu")->time_us == Approx(130));
  CHECK(table.estimate(conv_at(64), "npu")->distance == Approx(1.25));
}

TEST_CASE("repeats of a size give their median; an op's own time is not looked at") {
  ScalingTable table;
  table.add(conv_at(32), "npu", 100);
  table.add(conv_at(32), "npu", 120);
  table.add(conv_at(64), "npu", 1);
  table.add(conv_at(128), "npu", 302);  // with 110 at 32: 46 + 2 b
  CHECK(table.estimate(conv_at(64), "npu")->time_us == Approx(174));
}

TEST_CASE("ops that differ in one axis are on another line than those that differ in the other") {
  ScalingTable table;
  table.add(conv_at(32), "npu", 100);
  table.add(conv_at(128), "npu", 340);
  OpDescriptor tall = conv_at(64);
  tall.input_extents[0][2] = 57;  // nearer, but the only one that differs there
  tall.output_extents[0][2] = 57;
  table.add(tall, "npu", 5000);
  CHECK(table.estimate(conv_at(64), "npu")->time_us == Approx(180));
}

TEST_CASE("effects of instances are factors; unknown ones have none") {
  ScalingTable table;
  table.add_effect(5, std::log(1.25));
  CHECK(table.factor_of(5) == Approx(1.25));
  CHECK(table.factor_of(6) == 1);
  CHECK(table.factor_of(0) == 1);
  CHECK(table.size() == 1);
}

TEST_CASE("times never fall with the batch, and never start below zero") {
  ScalingTable table;
  table.add(conv_at(32), "npu", 100);
  table.add(conv_at(64), "npu", 90);
  CHECK(table.estimate(conv_at(128), "npu")->time_us == Approx(90));
  ScalingTable steep;
  steep.add(conv_at(32), "npu", 10);
  steep.add(conv_at(64), "npu", 100);
  CHECK(steep.estimate(conv_at(16), "npu")->time_us == Approx(5));
  CHECK(steep.estimate(conv_at(128), "npu")->time_us == Approx(200));
}

TEST_CASE("a scaling table survives a round trip; damage is an error") {
  ScalingTable table;
  table.add(conv_at(32), "npu", 100);
  table.add(conv_at(128), "npu", 340);
  table.add_effect(5, 0.25);
  const std::string bytes = table.serialize();
  const auto loaded = ScalingTable::parse(bytes, "scaling.bin");
  REQUIRE(loaded.ok());
  CHECK(loaded->serialize() == bytes);
  CHECK(loaded->estimate(conv_at(64), "npu")->time_us == Approx(180));
  CHECK(loaded->factor_of(5) == Approx(std::exp(0.25)));
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(ScalingTable::parse(bytes.substr(0, size), "cut").ok());
  }
  CHECK_FALSE(ScalingTable::parse(bytes + "x", "long").ok());
  Rng rng(4);
  for (int trial = 0; trial < 500; ++trial) {
    std::string damaged = bytes;
    damaged[rng.below(damaged.size())] ^= static_cast<char>(1U << rng.below(8));
    const auto parsed = ScalingTable::parse(damaged, "flipped");
    if (parsed.ok()) {
      (void)parsed->estimate(conv_at(64), "npu");
    }
  }
}

}  // namespace
}  // namespace dfsim
