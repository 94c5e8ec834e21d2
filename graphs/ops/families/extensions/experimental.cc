// The experimental operators that ONNX removed from its standard domain in release 1.5, still found
// in files of early converters (CoreML, CNTK, WinML).
//
// Work: scalar operations per output element by the operator's definition.
#include <utility>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

// border = left, top, right, bottom; or `scale` = height, width of what stays, from the border on.
Status infer_crop(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  const std::vector<int64_t>* border = context.attributes().get_ints("border");
  if (x.rank() != 4 || border == nullptr || border->size() != 4) {
    return context.error("expected an input [N, C, H, W] and four values in attribute 'border'");
  }
  Dims y = x.dims();
  if (const std::vector<int64_t>* kept = context.attributes().get_ints("scale")) {
    if (kept->size() != 2 || (*kept)[0] < 0 || (*kept)[1] < 0) {
      return context.error("attribute 'scale' must hold the height and width that stay");
    }
    y[2] = Dim((*kept)[0]);
    y[3] = Dim((*kept)[1]);
  } else {
    constexpr size_t kFirstBorder[] = {1, 0};  // of the height: top; of the width: left
    for (size_t side = 0; side < 2; ++side) {
      const Dim extent = y[2 + side];
      const Count cut =
          Count((*border)[kFirstBorder[side]]) + Count((*border)[kFirstBorder[side] + 2]);
      if (!extent.known()) {
        continue;
      }
      if (cut.overflowed() || cut.value() < 0 || cut.value() > extent.extent()) {
        return context.error("attribute 'border' cuts off more than there is");
      }
      y[2 + side] = Dim(extent.extent() - cut.value());
    }
  }
  context.set_output(0, context.dtype(0), Shape(std::move(y)));
  return ok_status();
}

// clang-format off
constexpr OpDef kExperimentalOps[] = {
    // alpha x + beta
    {.op_type = "Affine", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2},
    {.op_type = "Crop", .op_class = OpClass::kDataMovement, .infer = infer_crop, .work = work_copy,
     .factors = factors_same_extents},
    // scale x + the channel's bias
    {.op_type = "ImageScaler", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 2},
    // alpha log(exp(beta x) + 1)
    {.op_type = "ParametricSoftplus", .op_class = OpClass::kElementwise,
     .infer = infer_same_as_first, .work = work_per_element, .flops_per_element = 5},
    {.op_type = "Scale", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 1},
    // alpha tanh(beta x)
    {.op_type = "ScaledTanh", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 3},
};
// clang-format on

}  // namespace

OpFamily experimental_op_defs() { return {kExperimentalOps}; }

}  // namespace dfsim::inline graphs
