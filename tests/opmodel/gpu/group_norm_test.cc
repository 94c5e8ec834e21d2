// PyTorch's group normalisation on a board made by hand: 100 units at 1 GHz, 1 TB/s, a cache of
// 100 MB, launches of 2 us.
#include "opmodel/model/laws/torch/group_norm.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

DeviceSpec group_board() {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.memory_bytes_per_s = gpu.sustained_memory_bytes_per_s = 1e12;
  gpu.l2_bytes = 100'000'000;
  gpu.launch_overhead_ns = 2000;
  gpu.compute_units = 100;
  gpu.clock_hz = 1e9;
  return gpu;
}

// `images` of 32 channels and 100 x 100 pixels.
OpDescriptor group_norm(int64_t images, int groups) {
  OpDescriptor op;
  op.op_type = "GroupNormalization";
  op.op_class = OpClass::kNorm;
  op.dtype = DType::kFloat32;
  op.attributes = "num_groups=" + std::to_string(groups);
  op.input_extents = {{images, 32, 100, 100}, {32}, {32}};
  op.input_dtypes = {DType::kFloat32, DType::kFloat32, DType::kFloat32};
  op.output_extents = {{images, 32, 100, 100}};
  op.output_dtypes = {DType::kFloat32};
  return op;
}

TEST_CASE("Group norm: a lone block walks through its group") {
  // 320,000 elements, 1.28 MB: 1.3 % of the cache. Two more passes write the result.
  CHECK(group_norm_us(group_norm(1, 1), group_board()) == Approx(2 + 3.8 + 320 * 0.79 + 2 * 1.28));
  // Eight blocks at once take an eighth.
  CHECK(group_norm_us(group_norm(1, 8), group_board()) == Approx(2 + 3.8 + 40 * 0.79 + 2 * 1.28));
}

TEST_CASE("Group norm: images that the cache does not hold take longer per element") {
  DeviceSpec small = group_board();
  small.l2_bytes = 1'000'000;
  CHECK(group_norm_us(group_norm(1, 1), small) == Approx(2 + 3.8 + 320 * 1.74 + 2 * 1.28));
}

TEST_CASE("Group norm: many groups share the units, and memory is a limit, too") {
  // 3,200 blocks of 10,000 elements: 32 for each unit.
  CHECK(group_norm_us(group_norm(100, 32), group_board()) ==
        Approx(2 + 3.8 + 10 * 0.83 * 32 + 2 * 128));
  DeviceSpec slow = group_board();
  slow.memory_bytes_per_s = slow.sustained_memory_bytes_per_s = 1e11;
  CHECK(group_norm_us(group_norm(100, 32), slow) == Approx(2 + 3.8 + 3 * 1280));
}

TEST_CASE("Group norm: rows about it, other operators and engines keep their answers") {
  const auto after = [](OpDescriptor op, CostSource source) {
    OpCost cost;
    cost.time_ns = cost.low_ns = cost.high_ns = 7;
    cost.source = source;
    apply_group_norm(op, group_board(), &cost);
    return cost.time_ns;
  };
  CHECK(after(group_norm(1, 1), CostSource::kPrior) > 7);
  CHECK(after(group_norm(1, 1), CostSource::kExtrapolated) > 7);
  CHECK(after(group_norm(1, 1), CostSource::kPredicted) == 7);
  OpDescriptor other = group_norm(1, 1);
  other.op_type = "InstanceNormalization";
  CHECK(after(other, CostSource::kPrior) == 7);
  OpDescriptor engine = group_norm(1, 1);
  engine.attributes += ";engine_kernel=1";
  CHECK(after(engine, CostSource::kPrior) == 7);
}

}  // namespace
}  // namespace dfsim
