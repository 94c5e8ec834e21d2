// The operands of such a convolution are image, filter, bias (perhaps missing), and what it adds.
#include "opmodel/model/laws/cpu/sums_in_place.h"

#include <string_view>

namespace dfsim::inline opmodel {

namespace {

constexpr std::string_view kConvInBlocks = "com.microsoft.nchwc.Conv";
constexpr size_t kBias = 2;
constexpr size_t kAddend = 3;

}  // namespace

bool adds_in_place(const OpDescriptor& op) {
  return op.op_type == kConvInBlocks && op.input_extents.size() > kAddend &&
         op.input_extents[1].size() > 1 && op.input_extents[1][1] == 1;
}

OpDescriptor without_sum(const OpDescriptor& op) {
  OpDescriptor alone = op;
  const bool has_bias = op.input_dtypes[kBias] != DType::kUnknown;
  alone.input_extents.resize(has_bias ? kAddend : kBias);
  alone.input_dtypes.resize(alone.input_extents.size());
  return alone;
}

}  // namespace dfsim::inline opmodel
