// Exchanges the roles of operands: the gradient's result is the filter, and its second operand has
// the shape of the convolution's result.
#include "opmodel/features/filter_gradient.h"

namespace dfsim::inline opmodel {

bool is_filter_gradient(const OpDescriptor& op) {
  return op.op_type == "tensorflow.ConvFilterGrad" && op.input_extents.size() >= 2 &&
         op.input_dtypes.size() >= 2 && op.output_extents.size() == 1 &&
         op.output_dtypes.size() == 1;
}

OpDescriptor forward_convolution(const OpDescriptor& op) {
  if (!is_filter_gradient(op)) {
    return op;
  }
  OpDescriptor forward = op;
  forward.op_type = "Conv";
  forward.input_extents = {op.input_extents[0], op.output_extents[0]};
  forward.input_dtypes = {op.input_dtypes[0], op.output_dtypes[0]};
  forward.output_extents = {op.input_extents[1]};
  forward.output_dtypes = {op.input_dtypes[1]};
  return forward;
}

}  // namespace dfsim::inline opmodel
