// Operators on fp16 where ONNX Runtime has few kernels for it. The expected operators are those of
// its own optimised graphs (version 1.32, CPU).
#include <algorithm>
#include <cstdint>

#include "graphs/passes/cleanup/prune.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

using Types = std::vector<std::string>;

// x · w1, what `add` puts between "a" and "b", then b · w2.
template <typename Add>
PassCase between_products(const Add& add, int opset = 17) {
  PassCase graph(opset);
  graph.input("x", {4, 8}, DType::kFloat16);
  graph.weight("w1", {8, 8}, DType::kFloat16);
  graph.weight("w2", {8, 8}, DType::kFloat16);
  graph.op("MatMul", {"x", "w1"}, "a");
  add(graph);
  graph.op("MatMul", {"b", "w2"}, "y");
  graph.output("y");
  return graph;
}

DType dtype_of(const Graph& graph, const std::string& type) {
  for (const Op& op : graph.ops()) {
    if (op.op_type == type) {
      return graph.tensor(op.outputs[0]).dtype;
    }
  }
  FAIL("no " << type);
  return DType::kUnknown;
}

Types operator_types(const Graph& graph) {
  Types types;
  for (const Op& op : graph.ops()) {
    types.push_back(op.op_type);
  }
  return types;
}

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
    CHECK(op_work(result, OpId(0))->weight_bytes == int64_t{8} * 8 * 4);
  }
}

TEST_CASE(
    "half-as-float: what lies between products runs in fp32, several movers in a row do not") {
  PassCase alone = between_products([](PassCase& graph) {
    graph.op("Transpose", {"a"}, "b0");
    graph.op("Relu", {"b0"}, "b1");
    graph.op("Transpose", {"b1"}, "b");
  });
  const Graph& floats = alone.after({"half-as-float"});
  CHECK(operator_types(floats) ==
        Types{"Cast", "MatMul", "Transpose", "Relu", "Transpose", "MatMul", "Cast"});
  CHECK(dtype_of(floats, "Transpose") == DType::kFloat32);
  CHECK(floats.tensor(floats.outputs()[0]).dtype == DType::kFloat16);

  PassCase row = between_products([](PassCase& graph) {
    graph.split("a", {"left", "right"}, 1);
    graph.op("Concat", {"left", "right"}, "b", {{"axis", int64_t{1}}});
  });
  const Graph& halves = row.after({"half-as-float"});
  CHECK(operator_types(halves) ==
        Types{"Cast", "MatMul", "Cast", "Split", "Concat", "Cast", "MatMul", "Cast"});
  CHECK(dtype_of(halves, "Split") == DType::kFloat16);
  CHECK(dtype_of(halves, "Concat") == DType::kFloat16);
  CHECK(dtype_of(halves, "MatMul") == DType::kFloat32);
}

TEST_CASE("half-as-float: a weight that two operators read is cast in every run") {
  PassCase graph;
  graph.input("x", {4, 8}, DType::kFloat16);
  graph.weight("w", {8, 8}, DType::kFloat16);
  graph.op("MatMul", {"x", "w"}, "a");
  graph.op("MatMul", {"a", "w"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"half-as-float"});
  CHECK(std::ranges::count(result.ops(), "Cast", &Op::op_type) == 3);  // x, w and y
  CHECK(graph_totals(result)->weight_bytes == int64_t{8} * 8 * 2);
  PassCase once = between_products([](PassCase& g) { g.op("Relu", {"a"}, "b"); });
  CHECK(graph_totals(once.after({"half-as-float"}))->weight_bytes == int64_t{2} * 8 * 8 * 4);
}

TEST_CASE("half-as-float: a bias that several read through Identities keeps channels plain") {
  PassCase graph;
  graph.input("x", {1, 16, 8, 8}, DType::kFloat16);
  for (const char* const weight : {"w1", "w2"}) {
    graph.weight(weight, {16, 16, 1, 1}, DType::kFloat16);
  }
  graph.weight("bias", {16}, DType::kFloat16);
  graph.op("Identity", {"bias"}, "bias1");
  graph.op("Identity", {"bias"}, "bias2");
  graph.op("Conv", {"x", "w1", "bias1"}, "a");
  graph.op("Conv", {"a", "w2", "bias2"}, "y");
  graph.output("y");
  const Graph pruned = prune(graph.built(), {}, {.for_onnxruntime = true})->graph;
  const auto rewritten = run_passes(pruned, {{"half-as-float"}, {"nchwc-16"}}, {});
  REQUIRE(rewritten.ok());
  // One cast of the input, of the bias and of the result each.
  CHECK(operator_types(rewritten->graph) == Types{"Cast", "Cast", "Conv", "Conv", "Cast"});
  CHECK(
      std::ranges::all_of(rewritten->graph.ops(), [](const Op& op) { return op.domain.empty(); }));
}

TEST_CASE("half-as-float: equal numbers that several operators read are one, cast in every run") {
  for (const double second : {2.0, 3.0}) {
    PassCase graph = between_products([&](PassCase& g) {
      g.number("k1", 2, DType::kFloat16);
      g.number("k2", second, DType::kFloat16);
      g.op("Mul", {"a", "k1"}, "c");
      g.op("Mul", {"c", "k2"}, "b");
    });
    const Types types = operator_types(graph.after({"half-as-float"}));
    // The operand, the result, and the number that both read.
    CHECK(std::ranges::count(types, "Cast") == (second == 2 ? 3 : 2));
  }
}

TEST_CASE("half-as-float: bf16 is computed in fp32 throughout") {
  PassCase graph;
  graph.input("x", {4, 8}, DType::kBFloat16);
  graph.weight("w", {8, 8}, DType::kBFloat16);
  graph.op("MatMul", {"x", "w"}, "a");
  graph.op("Transpose", {"a"}, "b");
  graph.op("Transpose", {"b"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"half-as-float"});
  CHECK(operator_types(result) == Types{"MatMul", "Transpose", "Transpose"});
  CHECK(dtype_of(result, "Transpose") == DType::kFloat32);
}

TEST_CASE("half-bodies: functions of fp16 are written out in the opsets that their bodies fit") {
  const auto body = [](const std::string& type, int opset) {
    PassCase graph = between_products([&](PassCase& g) { g.op(type, {"a"}, "b"); }, opset);
    Types types = graph.types_after({"half-bodies"});
    return Types(types.begin() + 1, types.end() - 1);
  };
  CHECK(body("Softmax", 17) == Types{"ReduceMax", "Sub", "Exp", "ReduceSum", "Div"});
  CHECK(body("Softmax", 22) == Types{"ReduceMax", "Sub", "Exp", "ReduceSum", "Div"});
  CHECK(body("LogSoftmax", 17) == Types{"ReduceMax", "Sub", "Exp", "ReduceSum", "Log", "Sub"});
  CHECK(body("LeakyRelu", 17) == Types{"Mul", "Less", "Where"});
  CHECK(body("LeakyRelu", 20) == Types{"LeakyRelu"});
  CHECK(body("Relu", 17) == Types{"Relu"});
  CHECK(body("Relu", 18) == Types{"Max"});
  CHECK(body("Relu", 20) == Types{"Relu"});
  CHECK(body("Elu", 18) == Types{"Exp", "Sub", "Mul", "Less", "Where"});
  CHECK(body("HardSigmoid", 18) == Types{"Mul", "Add", "Min", "Max"});
  CHECK(body("Softplus", 18) == Types{"Exp", "Add", "Log"});
  CHECK(body("Softsign", 18) == Types{"Abs", "Add", "Div"});
  CHECK(body("ThresholdedRelu", 18) == Types{"Less", "Where"});
  CHECK(body("Selu", 18).size() == 7);
  CHECK(body("Gelu", 20) == Types{"Sqrt", "Div", "Erf", "Sum", "Mul", "Mul"});
}

TEST_CASE("half-bodies: fp32 stays, and Min and Max of fp16 stay next to each other") {
  PassCase floats(18);
  floats.input("x", {4, 8});
  floats.op("Softmax", {"x"}, "y");
  floats.output("y");
  CHECK(floats.types_after({"half-bodies"}) == Types{"Softmax"});
  PassCase gate = between_products([](PassCase& g) { g.op("HardSigmoid", {"a"}, "b"); }, 18);
  CHECK(gate.types_after({"half-bodies", "half-as-float"}) ==
        Types{"Cast", "MatMul", "Mul", "Add", "Cast", "Min", "Max", "Cast", "MatMul", "Cast"});
  PassCase relu = between_products([](PassCase& g) { g.op("Relu", {"a"}, "b"); }, 18);
  CHECK(relu.types_after({"half-bodies", "half-as-float"}) ==
        Types{"Cast", "MatMul", "Max", "MatMul", "Cast"});
}

TEST_CASE("half-bodies: com.microsoft's Gelu and FastGelu are written out") {
  const auto body = [](const std::string& type, bool bias) {
    PassCase graph = between_products([&](PassCase& g) {
      g.weight("bias", {8}, DType::kFloat16);
      g.op("com.microsoft." + type,
           bias ? std::vector<std::string>{"a", "bias"} : std::vector<std::string>{"a"}, "b");
    });
    Types types = operator_types(graph.after({"half-bodies", "half-as-float"}));
    return Types(types.begin() + 2, types.end() - 2);  // without the products and the outer casts
  };
  CHECK(body("Gelu", false) == Types{"Mul", "Erf", "Add", "Mul", "Mul"});
  const Types fast = {"Mul", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", "Mul"};
  CHECK(body("FastGelu", false) == fast);
  Types biased = fast;
  biased.insert(biased.begin(), "Add");
  CHECK(body("FastGelu", true) == biased);
}

// Two RMS norms that share their numbers and their weight, round a product.
TEST_CASE("simplified-layer-norm: finds norms of fp16 that share casts of their parameters") {
  PassCase graph;
  graph.input("x", {2, 4, 8}, DType::kFloat16);
  graph.weight("scale", {8}, DType::kFloat16);
  graph.weight("w", {8, 8}, DType::kFloat16);
  graph.number("two", 2, DType::kFloat16);
  graph.number("epsilon", 1e-5, DType::kFloat16);
  const auto norm = [&](const std::string& x, const std::string& y) {
    graph.op("Pow", {x, "two"}, y + "_square");
    graph.op("ReduceMean", {y + "_square"}, y + "_mean", {{"axes", std::vector<int64_t>{-1}}});
    graph.op("Add", {y + "_mean", "epsilon"}, y + "_sum");
    graph.op("Sqrt", {y + "_sum"}, y + "_norm");
    graph.op("Div", {x, y + "_norm"}, y + "_divided");
    graph.op("Mul", {"scale", y + "_divided"}, y);
  };
  norm("x", "a");
  graph.op("MatMul", {"a", "w"}, "b");
  norm("b", "y");
  graph.output("y");
  const Graph& result = graph.after({"half-as-float", "simplified-layer-norm"});
  const Types types = operator_types(result);
  CHECK(std::count(types.begin(), types.end(), "SimplifiedLayerNormalization") == 2);
  CHECK(std::count(types.begin(), types.end(), "Pow") == 0);
  CHECK(dtype_of(result, "SimplifiedLayerNormalization") == DType::kFloat32);
}

TEST_CASE("matmul-transpose: takes a Transpose of fp16 through the Cast behind it") {
  for (const bool shared : {false, true}) {
    PassCase graph;
    graph.input("q", {2, 4, 8}, DType::kFloat16);
    graph.input("k", {2, 4, 8}, DType::kFloat16);
    graph.op("Concat", {"k", "k"}, "keys", {{"axis", int64_t{1}}});
    graph.op("Transpose", {"keys"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1}}});
    graph.op("MatMul", {"q", "t"}, "y");
    graph.output("y");
    if (shared) {
      graph.output("t");
    }
    const Graph& result = graph.after({"half-as-float", "matmul-transpose"});
    const Types types = operator_types(result);
    INFO(shared);
    CHECK(std::count(types.begin(), types.end(), "FusedMatMul") == 1);
    CHECK(std::count(types.begin(), types.end(), "Transpose") == (shared ? 1 : 0));
    CHECK(std::count(types.begin(), types.end(), "Cast") == 3);  // of q, keys and the result
  }
}

}  // namespace
}  // namespace dfsim
