// The experimental operators that ONNX removed from its standard domain in release 1.5, still found
// in files of early converters (CoreML, CNTK, WinML).
//
// Work: scalar operations per output element by the operator's definition.
#include <utility>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/op_def.h"

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

constexpr OpClass kE = OpClass::kElementwise;

constexpr OpDef kOps[] = {
    // alpha x + beta
    {"Affine", kE, infer_same_as_first, work_per_element, nullptr, 2},
    {"Crop", OpClass::kDataMovement, infer_crop, work_copy, nullptr, 0, 1, "",
     factors_same_extents},
    // scale x + the channel's bias
    {"ImageScaler", kE, infer_same_as_first, work_per_element, nullptr, 2},
    // alpha log(exp(beta x) + 1)
    {"ParametricSoftplus", kE, infer_same_as_first, work_per_element, nullptr, 5},
    {"Scale", kE, infer_same_as_first, work_per_element, nullptr, 1},
    // alpha tanh(beta x)
    {"ScaledTanh", kE, infer_same_as_first, work_per_element, nullptr, 3},
};

}  // namespace

OpFamily experimental_op_defs() { return {kOps}; }

}  // namespace dfsim::inline graphs
