#include <catch2/catch.hpp>
#include <cmath>

#include "base/rng.h"
#include "opmodel/model/lookup_table.h"
#include "opmodel/model/scaling_table.h"

namespace dfsim {
namespace {

TEST_CASE("LookupTable: finds the median of repeated entries, also after a round trip") {
  const LookupTable table({{7, 1.0F}, {3, 9.0F}, {7, 2.0F}, {7, 50.0F}});
  const auto loaded = LookupTable::parse(table.serialize(), "lookup.bin");
  REQUIRE(loaded.ok());
  CHECK(loaded->size() == 2);
  CHECK(loaded->find_us(7) == 2.0);
  CHECK(loaded->find_us(3) == 9.0);
  CHECK_FALSE(loaded->find_us(4).has_value());
}

TEST_CASE("LookupTable: damaged files are errors") {
  const std::string bytes = LookupTable({{7, 1.0F}, {3, 9.0F}}).serialize();
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(LookupTable::parse(bytes.substr(0, size), "cut").ok());
  }
  CHECK_FALSE(LookupTable::parse(bytes + "x", "long").ok());
  std::string twice = bytes;
  twice[17] = 0;  // the second key is the first one
  CHECK_FALSE(LookupTable::parse(twice, "twice").ok());
  std::string long_key = bytes;
  long_key.replace(17, 1, 7, static_cast<char>(0xFF));
  CHECK_FALSE(LookupTable::parse(long_key, "long").ok());
  Rng rng(4);
  for (int trial = 0; trial < 200; ++trial) {
    std::string damaged = bytes;
    damaged[rng.below(damaged.size())] ^= static_cast<char>(1U << rng.below(8));
    if (const auto parsed = LookupTable::parse(damaged, "flipped"); parsed.ok()) {
      CHECK(parsed->size() == 2);
    }
  }
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

TEST_CASE("LookupTable: an even number of repeats gives the mean of the middle two") {
  CHECK(LookupTable({{7, 1.0F}, {7, 3.0F}}).find_us(7) == 2.0);
}

TEST_CASE("LookupTable: times and keys of any size come back exactly") {
  std::vector<std::pair<uint64_t, float>> entries;
  uint64_t key = 0;
  for (const float us : {1e-9F, 0.001F, 0.7F, 12.345F, 98765.4F, 9e8F, 1e12F}) {
    entries.emplace_back(key, us);
    key = 3 * key + 1;  // steps of 1, 3, 9, ...
  }
  entries.emplace_back((uint64_t{1} << 40) - 1, 5.0F);
  const auto loaded = LookupTable::parse(LookupTable(entries).serialize(), "lookup.bin");
  REQUIRE(loaded.ok());
  CHECK(loaded->entries() == entries);
}

TEST_CASE("LookupTable: a table that is written again stays the same") {
  const LookupTable table({{7, 1.5F}, {3, 9.0F}, {1234567, 1e6F}});
  CHECK(LookupTable(table.entries()).serialize() == table.serialize());
}

TEST_CASE("ScalingTable: time is affine in the batch between two batch sizes") {
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

TEST_CASE("ScalingTable: arithmetic in TF32 is on another line than in fp32") {
  const auto in_tf32 = [](int64_t batch) {
    OpDescriptor op = conv_at(batch);
    op.dtype = DType::kTFloat32;
    return op;
  };
  ScalingTable table;
  table.add(conv_at(32), "gpu", 100);
  table.add(in_tf32(16), "gpu", 10);
  table.add(conv_at(128), "gpu", 340);
  CHECK(table.estimate(conv_at(64), "gpu")->time_us == Approx(180));
  CHECK(table.estimate(conv_at(8), "gpu")->time_us == Approx(40));
  CHECK_FALSE(table.estimate(in_tf32(64), "gpu").has_value());
}

TEST_CASE("ScalingTable: another number of channels is not another batch size") {
  ScalingTable table;
  table.add(conv_at(32), "npu", 100);
  table.add(conv_at(128), "npu", 340);
  OpDescriptor wide = conv_at(64);
  wide.input_extents[0][1] = 256;  // 64 -> 256, while the batch doubles
  CHECK_FALSE(table.estimate(wide, "npu").has_value());
}

TEST_CASE("ScalingTable: the nearest sizes on both sides decide, in any network") {
  ScalingTable table;
  table.add(conv_at(8), "npu", 77);
  table.add(conv_at(48), "npu", 100);
  table.add(conv_at(80), "npu", 160);  // 10 + 1.875 b
  table.add(conv_at(512), "npu", 9999);
  CHECK(table.estimate(conv_at(64), "npu")->time_us == Approx(130));
  CHECK(table.estimate(conv_at(64), "npu")->distance == Approx(1.25));
}

TEST_CASE("ScalingTable: repeats of a size count with their median; an op's own time is ignored") {
  ScalingTable table;
  table.add(conv_at(32), "npu", 100);
  table.add(conv_at(32), "npu", 120);
  table.add(conv_at(64), "npu", 1);
  table.add(conv_at(128), "npu", 302);  // with 110 at 32: 46 + 2 b
  CHECK(table.estimate(conv_at(64), "npu")->time_us == Approx(174));
}

TEST_CASE("ScalingTable: ops that differ in different axes are on different lines") {
  ScalingTable table;
  table.add(conv_at(32), "npu", 100);
  table.add(conv_at(128), "npu", 340);
  OpDescriptor tall = conv_at(64);
  tall.input_extents[0][2] = 57;  // nearer, but the only one that differs there
  tall.output_extents[0][2] = 57;
  table.add(tall, "npu", 5000);
  CHECK(table.estimate(conv_at(64), "npu")->time_us == Approx(180));
}

TEST_CASE("ScalingTable: effects of instances are factors, and unknown instances have none") {
  ScalingTable table;
  table.add_effect(5, std::log(1.25));
  CHECK(table.factor_of(5) == Approx(1.25));
  CHECK(table.factor_of(6) == 1);
  CHECK(table.factor_of(0) == 1);
  CHECK(table.size() == 1);
}

TEST_CASE("ScalingTable: times never fall with the batch and never start below zero") {
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

TEST_CASE("ScalingTable: two times that contradict each other are doubted") {
  ScalingTable table;
  table.add(conv_at(16), "toy", 10);
  table.add(conv_at(32), "toy", 68);  // 6.8 times as long for twice the work
  const auto doubted = table.estimate(conv_at(64), "toy");
  REQUIRE(doubted.has_value());
  CHECK(doubted->doubt == Approx(std::log(6.8 / 3)));
  ScalingTable sound;
  sound.add(conv_at(16), "toy", 10);
  sound.add(conv_at(32), "toy", 19);
  CHECK(sound.estimate(conv_at(64), "toy")->doubt == 0);
  ScalingTable falling;
  falling.add(conv_at(16), "toy", 10);
  falling.add(conv_at(32), "toy", 5);
  CHECK(falling.estimate(conv_at(64), "toy")->doubt == Approx(std::log(0.7 / 0.5)));
}

TEST_CASE("ScalingTable: survives a round trip, and damage is an error") {
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
