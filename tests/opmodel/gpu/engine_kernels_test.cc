// Kernels of an engine as the operators whose rows tell their time.
#include "opmodel/model/laws/engine_kernels.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

OpDescriptor engine_attention(int64_t batch, const std::string& attributes) {
  OpDescriptor op;
  op.op_type = "Attention";
  op.op_class = OpClass::kAttention;
  op.dtype = DType::kFloat16;
  op.attributes = attributes;
  op.input_extents.assign(3, {batch, 12, 128, 64});
  op.input_extents.push_back({batch, 1, 128, 128});
  op.input_dtypes.assign(4, DType::kFloat16);
  op.output_extents = {{batch, 12, 128, 64}};
  op.output_dtypes = {DType::kFloat16};
  return op;
}

// 2 lanes * 64 * 100 units * 1 GHz = 12.8 TFLOP/s, so a clock of 1 GHz.
DeviceSpec engine_board() {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.peaks = {{DType::kFloat32, 12.8e12, 0}, {DType::kFloat16, 25.6e12, 200e12}};
  gpu.memory_bytes_per_s = 1e12;
  gpu.compute_units = 100;
  return gpu;
}

OpCost own_cost(TimeNs time_ns) {
  OpCost cost;
  cost.time_ns = cost.low_ns = cost.high_ns = time_ns;
  cost.source = CostSource::kPredicted;
  return cost;
}

TEST_CASE("EngineKernels: attention reads no mask, and no product has a GELU") {
  const OpDescriptor plain = without_engine(engine_attention(1, "engine_kernel=1"));
  CHECK(plain.input_extents.size() == 3);
  CHECK(plain.input_dtypes.size() == 3);
  CHECK(plain.attributes.empty());
  OpDescriptor product;
  product.op_type = "com.microsoft.FusedGemm";
  product.op_class = OpClass::kMatMul;
  product.attributes = "activation=Gelu;transA=0;transB=1";
  REQUIRE(is_engine_kernel(product));
  CHECK(without_engine(product).op_type == "Gemm");
  CHECK(without_engine(product).attributes == "transA=0;transB=1");
  product.attributes = "activation=Relu;transA=0;transB=1";
  CHECK_FALSE(is_engine_kernel(product));
}

TEST_CASE("EngineKernels: a normalisation moves the bytes of an elementwise kernel") {
  OpDescriptor norm;
  norm.op_type = "LayerNormalization";
  norm.op_class = OpClass::kNorm;
  norm.attributes = "axis=2;engine_kernel=1";
  REQUIRE(is_engine_kernel(norm));
  const OpDescriptor plain = without_engine(norm);
  CHECK(plain.op_type == "compiled.pointwise");
  CHECK(plain.op_class == OpClass::kElementwise);
  norm.attributes = "axis=2";
  CHECK_FALSE(is_engine_kernel(norm));
}

TEST_CASE("EngineKernels: short attention takes 7,500 cycles and 2,500 per step") {
  // 12 blocks on 100 units: one round of one step.
  OpCost cost = own_cost(30'000);
  limit_attention(engine_attention(1, "engine_kernel=1"), engine_board(), &cost);
  CHECK(cost.time_ns == 10'000);
  // 120 blocks: two rounds. 12,500 cycles; the bytes take 5.9 us.
  cost = own_cost(30'000);
  limit_attention(engine_attention(10, "engine_kernel=1"), engine_board(), &cost);
  CHECK(cost.time_ns == 12'500);
  // 1,200 blocks: twelve rounds take 37.5 us, bytes 94 us; the limit of longer ones rises faster.
  cost = own_cost(150'000);
  limit_attention(engine_attention(100, "engine_kernel=1"), engine_board(), &cost);
  CHECK(cost.time_ns == 150'000);
}

TEST_CASE("EngineKernels: measured attention and that of other runtimes keep their times") {
  OpCost cost = own_cost(30'000);
  limit_attention(engine_attention(1, ""), engine_board(), &cost);
  CHECK(cost.time_ns == 30'000);
  cost.source = CostSource::kMeasured;
  limit_attention(engine_attention(1, "engine_kernel=1"), engine_board(), &cost);
  CHECK(cost.time_ns == 30'000);
}

}  // namespace
}  // namespace dfsim
