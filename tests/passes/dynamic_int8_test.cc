// Products that are quantised while the network runs, as quantize_dynamic() writes them.
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

using Types = std::vector<std::string>;

class DynamicCase : public PassCase {
 public:
  DynamicCase() {
    input("x", {8, 64});
    op_of_several("DynamicQuantizeLinear", {"x"}, {"xq", "xs", "xz"});
  }
  // The product of x with a weight of its own, without its bias.
  void product(const std::string& name, const std::vector<int64_t>& scale_extents) {
    weight(name + "_w", {64, 32}, DType::kInt8);
    weight(name + "_s", scale_extents);
    integer(name + "_z", DType::kInt8, 0);
    op("MatMulInteger", {"xq", name + "_w", "xz", name + "_z"}, name + "_i");
    op("Cast", {name + "_i"}, name + "_f", {{"to", int64_t{1}}});
    op("Mul", {"xs", name + "_s"}, name + "_scale");
    op("Mul", {name + "_f", name + "_scale"}, name);
  }
  void bias(const std::string& name, const std::string& result) {
    weight(name + "_b", {32});
    op("Add", {name + "_b", name}, result);
  }
};

TEST_CASE("dynamic-int8: one product takes its quantisation and its bias into one operator") {
  DynamicCase graph;
  graph.product("p", {32});
  graph.bias("p", "y");
  graph.output("y");
  const Graph& result = graph.after({"dynamic-int8"});
  REQUIRE(result.ops().size() == 1);
  const Op& fused = result.op(OpId(0));
  CHECK(fused.op_type == "DynamicQuantizeMatMul");
  REQUIRE(fused.inputs.size() == 5);
  CHECK(result.tensor(fused.inputs[0]).name == "x");
  CHECK(result.tensor(fused.inputs[2]).name == "p_s");
  CHECK(result.tensor(fused.inputs[4]).name == "p_b");
  CHECK(op_work(result, OpId(0))->macs == 8 * 64 * 32);
}

TEST_CASE("dynamic-int8: products that share an activation share its quantisation") {
  DynamicCase graph;
  for (const char* name : {"q", "k"}) {
    graph.product(name, {});
    graph.output(name);
  }
  CHECK(graph.types_after({"dynamic-int8"}) == Types{"DynamicQuantizeLinear",
                                                     "com.microsoft.MatMulIntegerToFloat",
                                                     "com.microsoft.MatMulIntegerToFloat"});
}

TEST_CASE("dynamic-int8: an integer product that something else reads stays") {
  DynamicCase graph;
  graph.product("p", {32});
  graph.output("p_i");
  graph.output("p");
  CHECK(graph.types_after({"dynamic-int8"}).size() == 5);
}

TEST_CASE("dynamic-int8: a scale that something else reads keeps its quantiser") {
  DynamicCase graph;
  graph.product("p", {});
  graph.op("Neg", {"xs"}, "other");
  graph.output("p");
  graph.output("other");
  CHECK(graph.types_after({"dynamic-int8"}) ==
        Types{"DynamicQuantizeLinear", "Neg", "com.microsoft.MatMulIntegerToFloat"});
}

}  // namespace
}  // namespace dfsim
