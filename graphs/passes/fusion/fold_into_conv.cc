// Batch normalisation, scales and sums per channel after a convolution go into its weights; after a
// transposed one, ONNX Runtime 1.32 folds batch normalisation alone.
#include <algorithm>

#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"

namespace dfsim::inline graphs {
namespace {

bool folds(const EditableGraph& graph, const Op& conv, const Op& next) {
  if (next.op_type == "BatchNormalization") {
    const bool extra = next.outputs.size() > 1 && next.outputs[1].valid();
    return !extra && std::all_of(next.inputs.begin() + 1, next.inputs.end(),
                                 [&](TensorId id) { return graph.is_fixed(id); });
  }
  if (conv.op_type != "Conv" || (next.op_type != "Mul" && next.op_type != "Add")) {
    return false;
  }
  const size_t other = next.inputs[0] == conv.outputs[0] ? 1 : 0;
  const TensorId factor = next.inputs[other];
  if (next.op_type == "Mul" && factor.valid() && graph.is_fixed(factor) &&
      graph.shape(factor).has_rank() && graph.shape(factor).rank() == 0) {
    return true;  // one number scales all weights; ONNX Runtime adds none to biases
  }
  return is_per_channel(graph, next.inputs[other], graph.shape(conv.outputs[0]));
}

// Channels of the result: the first extent of a filter, and of a transposed one those of all
// groups.
Dim channels_of(const EditableGraph& graph, const Op& conv) {
  const Shape& filter = graph.shape(conv.inputs[1]);
  return conv.op_type == "Conv" ? filter[0]
                                : Dim(filter[1].extent() * conv.attributes.int_or("group", 1));
}

bool is_convolution(const Op& op) {
  return op.domain.empty() && (op.op_type == "Conv" || op.op_type == "ConvTranspose");
}

}  // namespace

void fold_into_conv(EditableGraph& graph) {
  for (OpId id : graph.ops()) {
    while (is_convolution(graph.op(id))) {
      const Op& conv = graph.op(id);
      const bool bias = conv.inputs.size() > 2 && conv.inputs[2].valid();
      const OpId next = graph.sole_reader(conv.outputs[0]);
      if (!next.valid() || !graph.op(next).domain.empty() || !graph.is_fixed(conv.inputs[1]) ||
          (bias && !graph.is_fixed(conv.inputs[2])) || !folds(graph, conv, graph.op(next))) {
        break;
      }
      Op folded = conv;
      folded.outputs = {graph.op(next).outputs[0]};
      if (!bias && graph.op(next).op_type != "Mul") {
        folded.inputs.resize(3);
        folded.inputs[2] = graph.add_weight(conv.name + "/bias", graph.tensor(conv.inputs[1]).dtype,
                                            Shape({channels_of(graph, conv)}));
      }
      id = graph.fuse({id, next}, std::move(folded));
    }
  }
}

}  // namespace dfsim::inline graphs
