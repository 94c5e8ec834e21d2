// The slowest compute unit of attention kernels, against cases counted by hand.
#include "opmodel/features/attention_waves.h"

#include <catch2/catch.hpp>

#include "opmodel/features/op_geometry.h"

namespace dfsim {
namespace {

// 100 units of `tflops_per_unit` each.
DeviceSpec gpu_of_units(double tflops_per_unit) {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.compute_units = 100;
  gpu.peaks = {{DType::kFloat16, 0, tflops_per_unit * 100 * 1e12}};
  return gpu;
}

OpGeometry attention(int64_t heads, int64_t key_heads, int64_t queries, int64_t keys,
                     const std::string& attributes) {
  OpDescriptor op;
  op.op_type = "Attention";
  op.op_class = OpClass::kAttention;
  op.dtype = DType::kFloat16;
  op.attributes = attributes;
  op.input_extents = {
      {1, heads, queries, 128}, {1, key_heads, keys, 128}, {1, key_heads, keys, 128}};
  op.input_dtypes.assign(3, DType::kFloat16);
  op.output_extents = {{1, heads, queries, 128}};
  op.output_dtypes = {DType::kFloat16};
  return geometry_of(op);
}

TEST_CASE("AttentionWaves: keys are split until the units are busy") {
  CHECK(key_splits(80, 64, 100) == 1);  // enough blocks without
  CHECK(key_splits(1, 64, 100) == 64);  // no more splits than blocks of keys, 64 at most
  CHECK(key_splits(1, 10, 100) == 10);
  CHECK(key_splits(40, 64, 100) == 5);  // two full waves
}

TEST_CASE("AttentionWaves: one block reads all keys of a head where the kernel does not split") {
  // 32 blocks of 128 keys, each 2 x 128 x 128 x 2 bytes at 25 GB/s.
  const double read_us = 2.0 * 128 * 128 * 2 / 25e3;
  const OpGeometry own_keys = attention(1, 1, 1, 4096, "kind=generation");
  CHECK(slowest_unit_us(own_keys, gpu_of_units(2.5)) == Approx(32 * read_us));
  // Kernels of units with asynchronous copies always split; a second kernel joins the parts.
  CHECK(slowest_unit_us(own_keys, gpu_of_units(7.5)) == Approx(read_us + 6));
  // So do earlier ones where heads share their keys.
  CHECK(slowest_unit_us(attention(8, 1, 1, 4096, "kind=generation"), gpu_of_units(2.5)) ==
        Approx(read_us + 6));
}

TEST_CASE("AttentionWaves: a prefill ends with the block that has the most keys") {
  // One head: 64 blocks of 64 queries, fewer than units; the last one sees all 4096 keys.
  const double us_per_key = 4.0 * 64 * 128 / 2.5e6;
  CHECK(slowest_unit_us(attention(1, 1, 4096, 4096, "causal=1;kind=context"), gpu_of_units(2.5)) ==
        Approx(us_per_key * 4096 / 0.75));
  // Many heads: the units share (4096 + 64) / 2 keys on average.
  CHECK(slowest_unit_us(attention(100, 100, 4096, 4096, "causal=1;kind=context"),
                        gpu_of_units(2.5)) == Approx(us_per_key * 64 * (4096 + 64) / 2 / 0.75));
  // A window bounds the longest block.
  CHECK(slowest_unit_us(attention(1, 1, 4096, 4096, "causal=1;kind=context;window=128"),
                        gpu_of_units(2.5)) == Approx(us_per_key * (128 + 64) / 0.75));
}

TEST_CASE("AttentionWaves: other operators and devices have no such time") {
  OpDescriptor op;
  op.op_type = "Add";
  op.op_class = OpClass::kElementwise;
  op.dtype = DType::kFloat16;
  op.input_extents = {{8, 8}, {8, 8}};
  op.input_dtypes.assign(2, DType::kFloat16);
  op.output_extents = {{8, 8}};
  op.output_dtypes = {DType::kFloat16};
  CHECK(slowest_unit_us(geometry_of(op), gpu_of_units(2.5)) == 0);
  DeviceSpec cpu = gpu_of_units(2.5);
  cpu.type = DeviceType::kCpu;
  CHECK(slowest_unit_us(attention(1, 1, 1, 4096, "kind=generation"), cpu) == 0);
}

}  // namespace
}  // namespace dfsim
