// ONNX Runtime's CPU provider has no kernels of half precision on x86: InsertCastTransformer puts
// casts around each operator, of which those between two such operators cancel, and the weights are
// converted once when the model is loaded. The model in fp32 remains.
#include "graphs/ops/onnx_dtype.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {

void compute_half_as_float(EditableGraph& graph) {
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    if (graph.tensor(TensorId(t)).dtype == DType::kFloat16) {
      graph.set_dtype(TensorId(t), DType::kFloat32);
    }
  }
  const int64_t half = dtype_to_onnx(DType::kFloat16);
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.op_type == "Cast" && op.domain.empty() && op.attributes.int_or("to", 0) == half) {
      graph.attributes(id).set("to", int64_t{dtype_to_onnx(DType::kFloat32)});
    }
  }
}

}  // namespace dfsim::inline graphs
