// Kernels of compiled training steps, counted by hand.
#include "graphs/training/step_kernels.h"

#include <algorithm>
#include <set>

#include "graphs/training/training_graph.h"
#include "graphs/training/training_parts.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

Graph step_of(PassCase model) {
  TrainingOptions options;
  options.optimizer = OptimizerKind::kNone;
  auto step = make_training_graph(model.built(), options);
  INFO(step.status().message());
  REQUIRE(step.ok());
  return std::move(step->graph);
}

Graph compiled(const Graph& step) {
  auto fused = fuse_step_kernels(step);
  INFO(fused.status().message());
  REQUIRE(fused.ok());
  return std::move(*fused);
}

// Types of the operators of one pass, other than products and convolutions.
std::multiset<std::string> kernels(const Graph& graph, TrainingPass pass) {
  std::multiset<std::string> types;
  for (const Op& op : graph.ops()) {
    if (training_pass(op) == pass && op.op_class != OpClass::kMatMul &&
        op.op_class != OpClass::kConv) {
      types.insert(op.op_type);
    }
  }
  return types;
}

// A product, its dropped-out and normalised sum with x, and another product.
PassCase block() {
  PassCase graph;
  graph.input("x", {4, 16, 64});
  graph.weight("w", {64, 64});
  graph.weight("scale", {64});
  graph.weight("offset", {64});
  graph.op("MatMul", {"x", "w"}, "a");
  graph.op("Tanh", {"a"}, "b");
  graph.op("Add", {"b", "x"}, "c");
  graph.op("LayerNormalization", {"c", "scale", "offset"}, "d", {{"axis", int64_t{-1}}});
  graph.op("Relu", {"d"}, "e");
  graph.op("MatMul", {"e", "w"}, "f");
  graph.output("f");
  return graph;
}

TEST_CASE("Step kernels: a normalisation contains the chains around it") {
  const Graph step = step_of(block());
  CHECK(kernels(step, TrainingPass::kForward) ==
        std::multiset<std::string>{"Add", "LayerNormalization", "Relu", "Tanh"});
  const Graph result = compiled(step);
  CHECK(kernels(result, TrainingPass::kForward) == std::multiset<std::string>{"norm"});
  // The gradients of Relu, of the normalisation and of Tanh; the sums for scale and offset walk
  // along rows.
  const auto backward = kernels(result, TrainingPass::kBackward);
  CHECK(backward.count("norm") == 1);
  CHECK(backward.count("reduction") == 1);
  CHECK(backward.count("ElementwiseGrad") == 0);
}

TEST_CASE("Step kernels: what the backward pass reads is written as well") {
  const Graph result = compiled(step_of(block()));
  const auto norm = std::ranges::find_if(result.ops(), [](const Op& op) {
    return op.op_type == "norm" && training_pass(op) == TrainingPass::kForward;
  });
  REQUIRE(norm != result.ops().end());
  // b (gradient of Tanh), c (of the normalisation), d or e (of Relu), e (of the product).
  CHECK(norm->outputs.size() >= 3);
  std::set<std::string> read;
  for (const TensorId input : norm->inputs) {
    read.insert(result.tensor(input).name);
  }
  CHECK(read == std::set<std::string>{"a", "offset", "scale", "x"});
}

TEST_CASE("Step kernels: batch normalisation is sums by channel and arithmetic by element") {
  PassCase graph;
  graph.input("x", {8, 16, 8, 8});
  graph.weight("w", {16, 16, 1, 1});
  for (const char* name : {"scale", "offset", "mean", "variance"}) {
    graph.weight(name, {16});
  }
  graph.op("Conv", {"x", "w"}, "a");
  graph.op("BatchNormalization", {"a", "scale", "offset", "mean", "variance"}, "b");
  graph.op("Relu", {"b"}, "c");
  graph.op("Conv", {"c", "w"}, "d");
  graph.output("d");
  const Graph result = compiled(step_of(graph));
  // Statistics, then normalisation and Relu.
  CHECK(kernels(result, TrainingPass::kForward) ==
        std::multiset<std::string>{"pointwise", "reduction"});
  // Relu's gradient and the sums of its products, then the gradient of the operand.
  const auto backward = kernels(result, TrainingPass::kBackward);
  CHECK(backward.count("reduction") == 1);
  CHECK(backward.count("pointwise") == 1);
  CHECK(backward.count("NormGrad") == 0);
  CHECK(backward.count("ElementwiseGrad") == 0);
}

TEST_CASE("Step kernels: masks of dropout are made again") {
  PassCase graph;
  graph.input("x", {4, 64});
  graph.weight("w", {64, 64});
  graph.number("ratio", 0.1);
  graph.integer("training", DType::kBool, 1);
  graph.op("MatMul", {"x", "w"}, "a");
  graph.op("Tanh", {"a"}, "b");
  graph.op_of_several("Dropout", {"b", "ratio", "training"}, {"c", "mask"});
  graph.op("MatMul", {"c", "w"}, "d");
  graph.output("d");
  const Graph step = step_of(graph);
  const auto reads_mask = [](const Graph& read) {
    return std::ranges::any_of(read.ops(), [&](const Op& op) {
      return std::ranges::any_of(op.inputs, [&](TensorId input) {
        return input.valid() && read.tensor(input).name == "mask";
      });
    });
  };
  CHECK(reads_mask(step));
  const Graph result = compiled(step);
  CHECK_FALSE(reads_mask(result));
  CHECK(kernels(result, TrainingPass::kForward) == std::multiset<std::string>{"pointwise"});
}

TEST_CASE("Step kernels: products, results and weights' gradients stay as they were") {
  const Graph step = step_of(block());
  const Graph result = compiled(step);
  const auto products = [](const Graph& graph) {
    return std::ranges::count_if(graph.ops(),
                                 [](const Op& op) { return op.op_class == OpClass::kMatMul; });
  };
  CHECK(products(result) == products(step));
  CHECK(result.op_count() < step.op_count());
  const auto before = graph_totals(step);
  const auto after = graph_totals(result);
  REQUIRE(before.ok());
  REQUIRE(after.ok());
  CHECK(after->macs == before->macs);
  CHECK(compiled(result).op_count() == result.op_count());
}

}  // namespace
}  // namespace dfsim
