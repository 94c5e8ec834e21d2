#include "opmodel/train/row_bounds.h"

#include <catch2/catch.hpp>

#include "opmodel/train/profile_ops.h"
#include "tests/opmodel/synthetic_profile.h"

namespace dfsim {
namespace {

TEST_CASE("rows faster than half of their bound go, with their row number; others stay") {
  Profile profile;
  // 2 * 2000^3 FLOPs at 19.5 TFLOP/s are 820 us.
  add_gemm(profile, 2000, 2000, 2000);
  for (const double time_us : {400.0, 420.0, 1000.0}) {
    ProfileRow row = make_row(profile, "MatMul", OpClass::kMatMul,
                              {f32({2000, 2000}), f32({2000, 2000})}, {f32({2000, 2000})}, time_us);
    row.device = profile.intern("NVIDIA A100-PCIE-40GB");
    row.source_row = static_cast<uint32_t>(time_us);
    profile.add(row);
  }
  DropReport drops;
  drop_impossible(profile, row_bounds(""), "p.csv", &drops);
  CHECK(profile.size() == 3);  // the toy GPU has no hardware file, so nothing is known of it
  REQUIRE(drops.count(DropReason::kImpossible) == 1);
  CHECK(drops.entries()[0].file == "p.csv");
  CHECK(drops.entries()[0].row == 400);
  CHECK(drops.entries()[0].message.find("at least half of its bound") != std::string::npos);
}

TEST_CASE("what is not known to be a bound is none") {
  const DeviceSpec a100 = find_device("a100").value();
  OpDescriptor op;
  op.op_type = "Relu";
  op.op_class = OpClass::kElementwise;
  op.dtype = DType::kFloat32;
  op.input_dtypes = {DType::kFloat32};
  op.output_dtypes = {DType::kFloat32};
  op.input_extents = {{1 << 20}};
  op.output_extents = {{1 << 20}};
  // 8 MiB fit into the cache: memory bounds nothing, only 1 FLOP an element does.
  CHECK(least_time_us(geometry_of(op), a100) < 1);
  op.input_extents = {{1 << 28}};
  op.output_extents = {{1 << 28}};
  CHECK(least_time_us(geometry_of(op), a100) ==
        Approx(2.0 * 4 * (1 << 28) / a100.memory_bytes_per_s * 1e6));
  op.op_type = "TransData";
  op.op_class = OpClass::kDataMovement;
  CHECK(least_time_us(geometry_of(op), a100) == 0);
}

TEST_CASE("an NPU's matrix units may take a dtype by converting it") {
  const DeviceSpec npu = find_device("ascend910").value();
  OpDescriptor op;
  op.op_type = "MatMul";
  op.op_class = OpClass::kMatMul;
  op.input_extents = {{512, 512}, {512, 512}};
  op.output_extents = {{512, 512}};
  op.dtype = DType::kFloat32;
  op.input_dtypes = {DType::kFloat32, DType::kFloat32};
  op.output_dtypes = {DType::kFloat32};
  CHECK(least_time_us(geometry_of(op), npu) == 0);
  op.dtype = DType::kFloat16;
  op.input_dtypes = {DType::kFloat16, DType::kFloat16};
  op.output_dtypes = {DType::kFloat16};
  CHECK(least_time_us(geometry_of(op), npu) == Approx(2.0 * 512 * 512 * 512 / 256e12 * 1e6));
}

}  // namespace
}  // namespace dfsim
