// The rules are those of ONNX Runtime 1.32; antialiasing and excluded borders, which it does not
// look at, do not matter here either.
#include "graphs/passes/layout/blocked_upsampling.h"

#include <string>
#include <utility>
#include <vector>

namespace dfsim::inline graphs {
namespace {

constexpr int kHasCoordinates = 11;  // before this version, Resize counts from the corner
constexpr size_t kSizes = 3;         // operand, where there are any

std::string coordinates_of(const Op& op) {
  return op.attributes.string_or("coordinate_transformation_mode",
                                 op.version < kHasCoordinates ? "asymmetric" : "half_pixel");
}

std::string mode_of(const Op& op) { return op.attributes.string_or("mode", "nearest"); }

bool has_kernel(const Op& op) {
  const std::string coordinates = coordinates_of(op);
  if (mode_of(op) == "linear") {
    return coordinates == "half_pixel" || coordinates == "asymmetric" ||
           coordinates == "align_corners";
  }
  const std::string rounding = op.attributes.string_or(
      "nearest_mode", op.version < kHasCoordinates ? "floor" : "round_prefer_floor");
  return mode_of(op) == "nearest" && coordinates == "asymmetric" && rounding == "floor";
}

// One for each axis; empty when they are not whole or not of height and width alone.
std::vector<double> whole_factors(const Shape& x, const Shape& y) {
  std::vector<double> factors;
  for (int axis = 0; axis < 4; ++axis) {
    const int64_t from = x[axis].extent();
    const int64_t to = y[axis].extent();
    if (from <= 0 || to % from != 0 || (axis < 2 && to != from)) {
      return {};
    }
    const int64_t factor = to / from;  // whole
    factors.push_back(static_cast<double>(factor));
  }
  return factors;
}

}  // namespace

bool has_blocked_upsampling(const EditableGraph& graph, const Op& resize) {
  const Shape& x = graph.shape(resize.inputs[0]);
  const Shape& y = graph.shape(resize.outputs[0]);
  const bool by_sizes = resize.inputs.size() > kSizes && resize.inputs[kSizes].valid();
  return graph.is_fixed(resize.inputs.back()) && x.is_static() && y.is_static() && y.rank() == 4 &&
         has_kernel(resize) && (!by_sizes || graph.shape_known(resize.inputs[0])) &&
         !whole_factors(x, y).empty();
}

Op blocked_upsampling(const EditableGraph& graph, const Op& resize) {
  Op op = resize;
  op.op_type = "Upsample";
  op.attributes = {};
  op.attributes.set("mode", mode_of(resize));
  op.attributes.set("coordinate_transformation_mode", coordinates_of(resize));
  op.attributes.set("scales",
                    whole_factors(graph.shape(resize.inputs[0]), graph.shape(resize.outputs[0])));
  return op;
}

}  // namespace dfsim::inline graphs
