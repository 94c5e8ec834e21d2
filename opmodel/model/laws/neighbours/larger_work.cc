// The leading axis of the first operand and of the result counts rows or images; that of the second
// grows along where it counts the same.
#include "opmodel/model/laws/neighbours/larger_work.h"

#include <vector>

#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_family.h"

namespace dfsim::inline opmodel {

namespace {

// Errors of two neighbours are alike, but not the same.
constexpr double kLargerSlack = 1.05;

using TensorExtents = std::vector<std::vector<int64_t>>;

// How many operands grow: all of an attention, both of a batched product, one image or matrix.
// 0: none can.
size_t growing_operands(const OpDescriptor& op, const OpGeometry& geometry) {
  const TensorExtents& x = op.input_extents;
  if (x.empty() || x[0].size() < 2 || op.output_extents.empty() || op.output_extents[0].empty()) {
    return 0;
  }
  if (geometry.family == Family::kAttention) {
    const bool alike =
        x.size() >= 3 && !x[1].empty() && !x[2].empty() && x[1][0] == x[0][0] && x[2][0] == x[0][0];
    return alike ? 3 : 0;
  }
  if (geometry.family == Family::kConv) {
    return 1;
  }
  const size_t right = right_operand(op);
  if (geometry.family != Family::kGemm || attribute_value(op.attributes, "transA") == "1" ||
      right >= x.size()) {
    return 0;
  }
  if (x[right].size() <= 2) {
    return 1;
  }
  return right == 1 && x[1].size() == x[0].size() && x[1][0] == x[0][0] ? 2 : 0;
}

}  // namespace

std::optional<OpDescriptor> with_more_rows(const OpDescriptor& op, const OpGeometry& geometry,
                                           const DeviceSpec& device, int64_t times) {
  const size_t operands = device.type == DeviceType::kGpu ? growing_operands(op, geometry) : 0;
  if (operands == 0) {
    return std::nullopt;
  }
  OpDescriptor larger = op;
  for (size_t i = 0; i < operands; ++i) {
    larger.input_extents[i][0] *= times;
  }
  larger.output_extents[0][0] *= times;
  return larger;
}

void limit_by_larger(const OpCost& larger, OpCost* cost) {
  const double limit_ns = static_cast<double>(larger.time_ns) * kLargerSlack;
  if (cost->source == CostSource::kPrior && larger.time_ns > 0 &&
      static_cast<double>(cost->time_ns) > limit_ns) {
    rescale(limit_ns, cost);
  }
}

}  // namespace dfsim::inline opmodel
