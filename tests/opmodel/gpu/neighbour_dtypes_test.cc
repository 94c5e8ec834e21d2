// Times of TF32 and of 8 bits from those of the element types next to them, counted by hand.
#include "opmodel/model/laws/neighbours/neighbour_dtypes.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

namespace dfsim {
namespace {

DeviceSpec plain_board() {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.launch_overhead_ns = 2'000;
  return gpu;
}

OpDescriptor conv_in(DType dtype, int64_t kernel, int64_t group) {
  OpDescriptor op;
  op.op_type = "Conv";
  op.op_class = OpClass::kConv;
  op.dtype = op.work.dtype = dtype;
  op.attributes = "group=" + std::to_string(group) + ";strides=1,1";
  op.input_extents = {{2, 64, 10, 10}, {64, 64 / group, kernel, kernel}};
  op.input_dtypes = {DType::kFloat32, DType::kFloat32};
  op.output_extents = {{2, 64, 10, 10}};
  op.output_dtypes = {DType::kFloat32};
  return op;
}

OpDescriptor byte_product() {
  OpDescriptor op;
  op.op_type = "com.microsoft.QGemm";
  op.op_class = OpClass::kMatMul;
  op.dtype = op.work.dtype = DType::kInt8;
  op.input_extents = {{8, 16}, {}, {}, {16, 32}, {}, {}, {32}, {}, {}};
  op.input_dtypes = {DType::kUInt8, DType::kFloat32, DType::kUInt8,   DType::kInt8, DType::kFloat32,
                     DType::kInt8,  DType::kFloat32, DType::kFloat32, DType::kUInt8};
  op.output_extents = {{8, 32}};
  op.output_dtypes = {DType::kUInt8};
  return op;
}

OpCost cost_of(TimeNs time_ns, CostSource source = CostSource::kPredicted) {
  OpCost cost;
  cost.time_ns = time_ns;
  cost.low_ns = time_ns / 2;
  cost.high_ns = time_ns * 2;
  cost.source = source;
  return cost;
}

OpCost applied(const OpDescriptor& op, OpCost wide, OpCost narrow, OpCost own) {
  apply_dtype_neighbours(geometry_of(op), plain_board(), wide, narrow, &own);
  return own;
}

TEST_CASE("NeighbourDTypes: TF32 has no kernels for groups and for attention") {
  CHECK(runs_as_fp32(conv_in(DType::kTFloat32, 3, 64)));
  CHECK(runs_as_fp32(conv_in(DType::kTFloat32, 3, 4)));
  CHECK_FALSE(runs_as_fp32(conv_in(DType::kTFloat32, 3, 1)));
  CHECK_FALSE(runs_as_fp32(conv_in(DType::kFloat32, 3, 64)));
  OpDescriptor attention;
  attention.op_class = OpClass::kAttention;
  attention.dtype = DType::kTFloat32;
  CHECK(runs_as_fp32(attention));
  CHECK(as_fp32(attention).dtype == DType::kFloat32);
  CHECK(as_fp32(attention).work.dtype == DType::kFloat32);
}

TEST_CASE("NeighbourDTypes: a dense convolution in TF32 lies between fp32 and fp16") {
  const OpDescriptor windows = conv_in(DType::kTFloat32, 3, 1);
  CHECK(applied(windows, cost_of(100'000), cost_of(20'000), cost_of(90'000)).time_ns == 27'000);
  // cuDNN takes the kernel of fp32 where that is faster.
  CHECK(applied(windows, cost_of(22'000), cost_of(20'000), cost_of(90'000)).time_ns == 22'000);
  const OpDescriptor points = conv_in(DType::kTFloat32, 1, 1);
  const OpCost between = applied(points, cost_of(100'000), cost_of(20'000), cost_of(90'000));
  CHECK(between.time_ns == std::llround(std::pow(20'000.0, 0.6) * std::pow(100'000.0, 0.4)));
  CHECK(between.low_ns < between.time_ns);
  CHECK(between.high_ns > between.time_ns);
  CHECK(between.source == CostSource::kExtrapolated);
}

TEST_CASE("NeighbourDTypes: measured times stay, and a prior is only limited") {
  const OpDescriptor windows = conv_in(DType::kTFloat32, 3, 1);
  const OpCost measured = cost_of(90'000, CostSource::kMeasured);
  CHECK(applied(windows, cost_of(100'000), cost_of(20'000), measured).time_ns == 90'000);
  const OpCost prior = cost_of(90'000, CostSource::kPrior);
  CHECK(applied(windows, cost_of(100'000), prior, prior).time_ns == 90'000);
  CHECK(applied(windows, cost_of(50'000), prior, prior).time_ns == 50'000);
}

TEST_CASE("NeighbourDTypes: a product of bytes takes a share of the time of 16 bits") {
  const OpDescriptor op = byte_product();
  // 2 us to start, and 0.65 of the rest.
  CHECK(applied(op, OpCost(), cost_of(102'000), cost_of(300'000)).time_ns == 67'000);
  CHECK(applied(op, OpCost(), cost_of(102'000), cost_of(300'000)).high_ns == 134'000);
  CHECK(applied(op, OpCost(), cost_of(102'000), cost_of(40'000)).time_ns == 40'000);
  CHECK(applied(op, OpCost(), cost_of(1'500), cost_of(9'000)).time_ns == 1'500);
}

TEST_CASE("NeighbourDTypes: the neighbour of a product of bytes has its two matrices in fp16") {
  const OpDescriptor op = byte_product();
  const auto found = dtype_neighbours(op, geometry_of(op), plain_board());
  REQUIRE(found.has_value());
  CHECK_FALSE(found->wide.has_value());
  CHECK(found->narrow.op_type == "MatMul");
  CHECK(found->narrow.input_extents == std::vector<std::vector<int64_t>>{{8, 16}, {16, 32}});
  CHECK(found->narrow.input_dtypes == std::vector<DType>{DType::kFloat16, DType::kFloat16});
  CHECK(found->narrow.output_dtypes == std::vector<DType>{DType::kFloat16});
  CHECK(geometry_of(found->narrow).flops == geometry_of(op).flops);
}

TEST_CASE("NeighbourDTypes: a product of one row in fp32 takes at most twice the time of fp16") {
  OpDescriptor op;
  op.op_type = "Gemm";
  op.op_class = OpClass::kMatMul;
  op.dtype = op.work.dtype = DType::kFloat32;
  op.attributes = "transB=1";
  op.input_extents = {{1, 64}, {32, 64}};
  op.input_dtypes = {DType::kFloat32, DType::kFloat32};
  op.output_extents = {{1, 32}};
  op.output_dtypes = {DType::kFloat32};
  REQUIRE(may_have_dtype_neighbours(op, CostSource::kPrior));
  CHECK_FALSE(may_have_dtype_neighbours(op, CostSource::kPredicted));
  const auto found = dtype_neighbours(op, geometry_of(op), plain_board());
  REQUIRE(found.has_value());
  CHECK_FALSE(found->wide.has_value());
  CHECK(found->narrow.dtype == DType::kFloat16);
  CHECK(found->narrow.input_dtypes == std::vector<DType>{DType::kFloat16, DType::kFloat16});
  const OpCost long_prior = cost_of(90'000, CostSource::kPrior);
  CHECK(applied(op, OpCost(), cost_of(20'000), long_prior).time_ns == 40'000);
  CHECK(applied(op, OpCost(), cost_of(20'000), long_prior).high_ns == 80'000);
  CHECK(applied(op, OpCost(), cost_of(50'000), long_prior).time_ns == 90'000);
  CHECK(applied(op, OpCost(), cost_of(20'000), cost_of(90'000)).time_ns ==
        90'000);  // measured rows
  op.input_extents = {{2, 64}, {32, 64}};
  op.output_extents = {{2, 32}};
  CHECK_FALSE(may_have_dtype_neighbours(op, CostSource::kPrior));
  CHECK_FALSE(dtype_neighbours(op, geometry_of(op), plain_board()).has_value());
}

TEST_CASE("NeighbourDTypes: other operators and devices have none") {
  const OpDescriptor half = conv_in(DType::kFloat16, 3, 1);
  CHECK_FALSE(dtype_neighbours(half, geometry_of(half), plain_board()).has_value());
  DeviceSpec cpu = plain_board();
  cpu.type = DeviceType::kCpu;
  CHECK_FALSE(dtype_neighbours(byte_product(), geometry_of(byte_product()), cpu).has_value());
  // Activations in real numbers: the kernel quantises them, as tables have it.
  OpDescriptor dynamic = byte_product();
  dynamic.input_dtypes[0] = DType::kFloat32;
  CHECK_FALSE(dtype_neighbours(dynamic, geometry_of(dynamic), plain_board()).has_value());
}

}  // namespace
}  // namespace dfsim
