// Convolutions that write over the image that they add.
#include "opmodel/model/laws/cpu/sums_in_place.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

OpDescriptor blocked_conv(int64_t channels_per_group, bool bias) {
  OpDescriptor op;
  op.op_type = "com.microsoft.nchwc.Conv";
  op.op_class = OpClass::kConv;
  op.dtype = DType::kFloat32;
  op.input_extents = {{8, 16, 112, 112}, {16, channels_per_group, 3, 3}, {16}, {8, 16, 112, 112}};
  op.input_dtypes.assign(4, DType::kFloat32);
  op.output_extents = {{8, 16, 112, 112}};
  op.output_dtypes = {DType::kFloat32};
  if (!bias) {
    op.input_extents[2] = {-1};
    op.input_dtypes[2] = DType::kUnknown;
  }
  return op;
}

TEST_CASE("SumsInPlace: a depthwise convolution in blocks is priced without what it adds") {
  for (const bool bias : {true, false}) {
    const OpDescriptor op = blocked_conv(1, bias);
    REQUIRE(adds_in_place(op));
    const OpDescriptor alone = without_sum(op);
    CHECK(alone.input_extents.size() == (bias ? 3 : 2));
    CHECK(alone.input_dtypes.size() == alone.input_extents.size());
    CHECK(alone.output_extents == op.output_extents);
    CHECK_FALSE(adds_in_place(alone));
  }
}

TEST_CASE("SumsInPlace: dense convolutions and those outside of blocks stay as they are") {
  CHECK_FALSE(adds_in_place(blocked_conv(16, true)));
  OpDescriptor fused = blocked_conv(1, true);
  fused.op_type = "com.microsoft.FusedConv";
  CHECK_FALSE(adds_in_place(fused));
}

}  // namespace
}  // namespace dfsim
