// Limits by larger operators, counted by hand.
#include "opmodel/model/laws/neighbours/larger_work.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace dfsim {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

OpDescriptor product_of(Shapes inputs, std::vector<int64_t> output,
                        const std::string& attributes = "") {
  OpDescriptor op;
  op.op_type = "MatMul";
  op.op_class = OpClass::kMatMul;
  op.dtype = DType::kFloat16;
  op.input_dtypes.assign(inputs.size(), DType::kFloat16);
  op.input_extents = std::move(inputs);
  op.output_extents = {std::move(output)};
  op.output_dtypes = {DType::kFloat16};
  op.attributes = attributes;
  return op;
}

std::optional<OpDescriptor> twice(const OpDescriptor& op, DeviceType type = DeviceType::kGpu) {
  DeviceSpec device;
  device.type = type;
  return with_more_rows(op, geometry_of(op), device, 2);
}

TEST_CASE("LargerWork: a product with a weight has more rows") {
  const auto larger = twice(product_of({{8, 16, 32}, {32, 64}}, {8, 16, 64}));
  REQUIRE(larger.has_value());
  CHECK(larger->input_extents == Shapes{{16, 16, 32}, {32, 64}});
  CHECK(larger->output_extents == Shapes{{16, 16, 64}});
  CHECK(geometry_of(*larger).flops == 2 * 2.0 * 8 * 16 * 32 * 64);
}

TEST_CASE("LargerWork: both operands of a batched product grow") {
  const auto larger = twice(product_of({{8, 16, 32}, {8, 32, 64}}, {8, 16, 64}));
  REQUIRE(larger.has_value());
  CHECK(larger->input_extents == Shapes{{16, 16, 32}, {16, 32, 64}});
}

TEST_CASE("LargerWork: operands that do not grow alike, and CPUs, are left alone") {
  CHECK_FALSE(twice(product_of({{32, 16}, {32, 64}}, {16, 64}, "transA=1;transB=0")));
  CHECK_FALSE(twice(product_of({{1, 16, 32}, {8, 32, 64}}, {8, 16, 64})));
  CHECK_FALSE(twice(product_of({{16, 32}, {32, 64}}, {16, 64}), DeviceType::kCpu));
}

TEST_CASE("LargerWork: a prior costs at most 1.05 times the larger operator") {
  OpCost larger;
  larger.time_ns = 4'000;
  OpCost cost;
  cost.time_ns = 9'000;
  cost.low_ns = 6'000;
  cost.high_ns = 18'000;
  cost.source = CostSource::kPredicted;
  limit_by_larger(larger, &cost);
  CHECK(cost.time_ns == 9'000);
  cost.source = CostSource::kPrior;
  limit_by_larger(larger, &cost);
  CHECK(cost.time_ns == 4'200);
  CHECK(cost.low_ns == 2'800);
  CHECK(cost.high_ns == 8'400);
  cost.time_ns = 4'100;
  limit_by_larger(larger, &cost);
  CHECK(cost.time_ns == 4'100);
}

}  // namespace
}  // namespace dfsim
