// Half precision where the runtime has no kernels of it.
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

TEST_CASE("half-as-float: weights and activations become fp32, and casts between both vanish") {
  for (const auto& [dtype, code] : {std::pair(DType::kFloat16, 10), {DType::kBFloat16, 16}}) {
    PassCase graph;
    graph.input("x", {4, 8});
    graph.weight("w", {8, 8}, dtype);
    graph.op("Cast", {"x"}, "h", {{"to", int64_t{code}}});
    graph.op("MatMul", {"h", "w"}, "m");
    graph.op("Relu", {"m"}, "r");
    graph.op("Cast", {"r"}, "y", {{"to", int64_t{1}}});
    graph.output("y");
    const Graph& result = graph.after({"half-as-float", "no-ops"});
    for (const Op& op : result.ops()) {
      CHECK(op.op_type != "Cast");
      for (const TensorId output : op.outputs) {
        CHECK(result.tensor(output).dtype == DType::kFloat32);
      }
    }
    CHECK(result.ops().size() == 2);
    CHECK(op_work(result, OpId(0))->weight_bytes == 8 * 8 * 4);
  }
}

}  // namespace
}  // namespace dfsim
