// ONNX Runtime's CPU provider has no kernels of half precision on x86: InsertCastTransformer puts
// casts around each operator, of which those between two such operators cancel, and the weights are
// converted once when the model is loaded. The model in fp32 remains. It refuses bf16, which users
// then export in fp32.
#include "graphs/ops/onnx_dtype.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {

void compute_half_as_float(EditableGraph& graph) {
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    const DType dtype = graph.tensor(TensorId(t)).dtype;
    if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) {
      graph.set_dtype(TensorId(t), DType::kFloat32);
    }
  }
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const int64_t to = op.attributes.int_or("to", 0);
    if (op.op_type == "Cast" && op.domain.empty() &&
        (to == dtype_to_onnx(DType::kFloat16) || to == dtype_to_onnx(DType::kBFloat16))) {
      graph.attributes(id).set("to", int64_t{dtype_to_onnx(DType::kFloat32)});
    }
  }
}

}  // namespace dfsim::inline graphs
