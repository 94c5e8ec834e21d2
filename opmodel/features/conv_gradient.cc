// Exchanges the roles of operands. The filter's gradient makes the filter, and its second operand
// has the shape of the convolution's result; the image's gradient makes the image from that.
#include "opmodel/features/conv_gradient.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "datasets/profiles/profile.h"
#include "graphs/ops/families/extensions/runtime_ops.h"

namespace dfsim::inline opmodel {
namespace {

std::string without_attribute(const std::string& attributes, std::string_view name) {
  std::vector<std::string> kept = split(attributes, ';');
  std::erase_if(kept, [name](const std::string& item) {
    return item.starts_with(name) && item.substr(name.size()).starts_with("=");
  });
  return join(kept, ";");
}

}  // namespace

bool is_filter_gradient(const OpDescriptor& op) {
  return op.op_type == "tensorflow.ConvFilterGrad" && op.input_extents.size() >= 2 &&
         op.input_dtypes.size() >= 2 && op.output_extents.size() == 1 &&
         op.output_dtypes.size() == 1;
}

bool is_input_gradient(const OpDescriptor& op) {
  return op.op_type == "ConvTranspose" && op.input_extents.size() >= 2 &&
         op.input_dtypes.size() >= 2 && op.output_extents.size() == 1 &&
         op.output_dtypes.size() == 1 && attribute_value(op.attributes, kInputGradient) == "1";
}

OpDescriptor forward_convolution(const OpDescriptor& op) {
  OpDescriptor forward = op;
  if (is_filter_gradient(op)) {
    forward.input_extents = {op.input_extents[0], op.output_extents[0]};
    forward.input_dtypes = {op.input_dtypes[0], op.output_dtypes[0]};
    forward.output_extents = {op.input_extents[1]};
    forward.output_dtypes = {op.input_dtypes[1]};
  } else if (is_input_gradient(op)) {
    forward.input_extents = {op.output_extents[0], op.input_extents[1]};
    forward.input_dtypes = {op.output_dtypes[0], op.input_dtypes[1]};
    forward.output_extents = {op.input_extents[0]};
    forward.output_dtypes = {op.input_dtypes[0]};
    for (const std::string_view own : {kInputGradient, std::string_view("output_padding")}) {
      forward.attributes = without_attribute(forward.attributes, own);
    }
  } else {
    return op;
  }
  forward.op_type = "Conv";
  return forward;
}

void widen_for_gradient(OpCost* cost) {
  // ln(backward / (2 forward)) of the convolutions of 16 training steps on an H100 is within this
  // for four fifths of them (docs/notes/accuracy-experiments.md); depthwise ones take longest.
  constexpr double kSpread = 1.6;
  const auto time = static_cast<double>(cost->time_ns);
  cost->low_ns = std::min(cost->low_ns, static_cast<int64_t>(time / kSpread));
  cost->high_ns = std::max(cost->high_ns, static_cast<int64_t>(time * kSpread));
  if (cost->source == CostSource::kMeasured || cost->source == CostSource::kPredicted) {
    cost->source = CostSource::kExtrapolated;
  }
}

}  // namespace dfsim::inline opmodel
