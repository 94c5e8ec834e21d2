// PyTorch's kernel for linear resizing of images with their channels first: a thread computes one
// pixel of the result, and walks through the batch and the channels one after the other. Few pixels
// of many channels leave most of a GPU idle, so the operator gets the attribute `serial_images`,
// which models of costs look at. Compilers of kernels, and other runtimes, have no such kernel.
#include <string>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {

void mark_serial_images(EditableGraph& graph) {
  constexpr int kImageRank = 4;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const bool resizes = op.domain.empty() &&
                         (op.op_type == "Resize" || op.op_type == "Upsample") &&
                         op.attributes.string_or("mode", "nearest") == "linear" &&
                         op.attributes.int_or("antialias", 0) == 0;  // smoothing is another kernel
    if (resizes && graph.alive(id) && graph.shape(op.inputs[0]).rank() == kImageRank) {
      graph.attributes(id).set(std::string(kSerialImages), int64_t{1});
    }
  }
}

}  // namespace dfsim::inline graphs
