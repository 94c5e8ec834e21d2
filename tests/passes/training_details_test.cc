// Details of training steps: types of gradients under autocast, losses, lists of weights, gradient
// accumulation. Counts are made by hand; gradients themselves are checked in tests/partition.
#include "graphs/passes/precision/precision.h"
#include "graphs/training/training_graph.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

// x [8, 64] times two weights, with a sum round the second product.
Graph small_model() {
  PassCase graph;
  graph.input("x", {8, 64});
  graph.weight("w1", {64, 64});
  graph.weight("w2", {64, 64});
  graph.op("MatMul", {"x", "w1"}, "h");
  graph.op("MatMul", {"h", "w2"}, "o");
  graph.op("Add", {"o", "x"}, "y");
  graph.output("y");
  return graph.built();
}

TrainingGraph training_step(const Graph& graph, const TrainingOptions& options) {
  auto step = make_training_graph(graph, options);
  INFO(step.status().message());
  REQUIRE(step.ok());
  return std::move(*step);
}

std::vector<const Op*> ops_of_type(const Graph& graph, const std::string& type) {
  std::vector<const Op*> found;
  for (const Op& op : graph.ops()) {
    if (op.op_type == type) {
      found.push_back(&op);
    }
  }
  return found;
}

TEST_CASE("Training: a gradient has the type of its tensor under autocast") {
  PrecisionPlan plan;
  plan.base = Precision::kMixedBf16;
  const auto mixed = refine_precision(small_model(), plan, {});
  REQUIRE(mixed.ok());
  const TrainingGraph step = training_step(*mixed, {});
  for (size_t t = 0; t < mixed->tensor_count(); ++t) {
    if (step.gradients[t].valid()) {
      INFO(mixed->tensor(TensorId(t)).name);
      CHECK(step.graph.tensor(step.gradients[t]).dtype == mixed->tensor(TensorId(t)).dtype);
    }
  }
  // Gradients of products run on bf16, and those of the fp32 weights come from casts.
  for (const Op* op : ops_of_type(step.graph, "Gemm")) {
    CHECK(step.graph.tensor(op->inputs[0]).dtype == DType::kBFloat16);
    CHECK(step.graph.tensor(op->inputs[1]).dtype == DType::kBFloat16);
  }
  for (const TrainingGraph::Parameter& parameter : step.parameters) {
    CHECK(step.graph.tensor(parameter.gradient).dtype == DType::kFloat32);
    for (const TensorId state : parameter.states) {
      CHECK(step.graph.tensor(state).dtype == DType::kFloat32);
    }
  }
}

TEST_CASE("Training: states of an optimizer have the type of their weight") {
  const auto half = cast_model(small_model(), DType::kFloat16, {});
  REQUIRE(half.ok());
  for (const TrainingGraph::Parameter& parameter : training_step(*half, {}).parameters) {
    REQUIRE(parameter.states.size() == 2);
  }
  const TrainingGraph step = training_step(*half, {});
  CHECK(step.graph.tensor(step.parameters[0].states[0]).dtype == DType::kFloat16);
}

TEST_CASE("Training: TF32 products have TF32 gradients") {
  PrecisionPlan plan;
  plan.base = Precision::kTf32;
  const auto tf32 = mark_tf32(small_model(), plan);
  REQUIRE(tf32.ok());
  const TrainingGraph step = training_step(*tf32, {});
  for (size_t i = 0; i < step.graph.op_count(); ++i) {
    const auto work = op_work(step.graph, OpId(i));
    REQUIRE(work.ok());
    CHECK((work->dtype == DType::kTFloat32) == (work->macs > 0));
  }
}

TEST_CASE("Training: without an optimizer a step ends with the gradients") {
  TrainingOptions options;
  options.optimizer = OptimizerKind::kNone;
  const TrainingGraph step = training_step(small_model(), options);
  for (const Op& op : step.graph.ops()) {
    CHECK(op.op_class != OpClass::kOptimizer);
  }
  CHECK(step.parameters.size() == 2);
}

TEST_CASE("Training: foreach reads and writes 18 tensors of a weight's size, fused 7") {
  const int64_t weights = 2 * 64 * 64 * 4;  // bytes
  for (const UpdateKernels kernels : {UpdateKernels::kForeach, UpdateKernels::kFused}) {
    TrainingOptions options;
    options.kernels = kernels;
    const TrainingGraph step = training_step(small_model(), options);
    int64_t bytes = 0;
    size_t launches = 0;
    for (size_t i = 0; i < step.graph.op_count(); ++i) {
      if (step.graph.op(OpId(i)).op_class == OpClass::kOptimizer) {
        const auto work = op_work(step.graph, OpId(i));
        REQUIRE(work.ok());
        bytes += work->bytes();
        ++launches;
      }
    }
    const bool fused = kernels == UpdateKernels::kFused;
    CHECK(launches == (fused ? 1 : 7));
    CHECK(bytes == (fused ? 7 : 18) * weights);
  }
}

TEST_CASE("Training: a list of weights goes in launches of 36 when four tensors belong to each") {
  PassCase graph;
  graph.input("x", {4, 8});
  std::string last = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string weight = "w" + std::to_string(i);
    graph.weight(weight, {8, 8});
    graph.op("MatMul", {last, weight}, "h" + std::to_string(i));
    last = "h" + std::to_string(i);
  }
  graph.output(last);
  TrainingOptions options;
  options.kernels = UpdateKernels::kFused;
  CHECK(ops_of_type(training_step(graph.built(), options).graph, "ListUpdate").size() == 2);
}

TEST_CASE("Training: cross entropy adds the loss and its backward pass in fp32") {
  const auto half = cast_model(small_model(), DType::kFloat16, {});
  REQUIRE(half.ok());
  TrainingOptions options;
  options.loss = LossKind::kCrossEntropy;
  const TrainingGraph step = training_step(*half, options);
  const auto softmax = ops_of_type(step.graph, "LogSoftmax");
  REQUIRE(softmax.size() == 1);
  CHECK(step.graph.tensor(softmax[0]->outputs[0]).dtype == DType::kFloat32);
  CHECK(ops_of_type(step.graph, "NegativeLogLikelihoodLoss").size() == 1);
  const auto back = ops_of_type(step.graph, "SoftmaxGrad");
  REQUIRE(back.size() == 1);
  CHECK(step.graph.tensor(back[0]->outputs[0]).dtype == DType::kFloat16);
  TrainingOptions squared;
  squared.loss = LossKind::kMse;
  CHECK(ops_of_type(training_step(small_model(), squared).graph, "ReduceSumSquare").size() == 1);
}

TEST_CASE("Training: accumulation repeats all but the update and adds up gradients") {
  const TrainingGraph once = training_step(small_model(), {});
  TrainingOptions options;
  options.accumulate = 3;
  const TrainingGraph thrice = training_step(small_model(), options);
  const auto count = [](const Graph& graph, const std::string& type) {
    return ops_of_type(graph, type).size();
  };
  CHECK(count(thrice.graph, "MatMul") == 3 * count(once.graph, "MatMul"));
  CHECK(count(thrice.graph, "Adam") == count(once.graph, "Adam"));
  // One sum per weight and further pass.
  CHECK(count(thrice.graph, "Add") == 3 * count(once.graph, "Add") + 2 * 2);
  CHECK(graph_totals(thrice.graph)->parameters == graph_totals(once.graph)->parameters);
}

int64_t bytes_moved_by(const Graph& graph, const Op* op) {
  for (size_t i = 0; i < graph.op_count(); ++i) {
    if (&graph.op(OpId(i)) == op) {
      const auto work = op_work(graph, OpId(i));
      REQUIRE(work.ok());
      return work->bytes_read + work->bytes_written;
    }
  }
  return 0;
}

TEST_CASE("Training: softmax's backward pass is a product and a kernel that reads it") {
  PassCase graph;
  graph.input("x", {8, 64});
  graph.weight("w", {64, 64});
  graph.op("MatMul", {"x", "w"}, "h");
  graph.op("Softmax", {"h"}, "y", {{"axis", int64_t{1}}});
  graph.output("y");
  const Graph step = training_step(graph.built(), {}).graph;
  const auto back = ops_of_type(step, "SoftmaxGrad");
  const auto product = ops_of_type(step, "Mul");
  REQUIRE(back.size() == 1);
  REQUIRE(product.size() == 1);
  CHECK(back[0]->inputs[0] == product[0]->outputs[0]);
  // Two operands and a result of 8 x 64 floats each.
  CHECK(bytes_moved_by(step, back[0]) + bytes_moved_by(step, product[0]) == 2 * 3 * 8 * 64 * 4);
}

TEST_CASE("Training: a power by a number has three kernels in its backward pass") {
  PassCase graph;
  graph.input("x", {8, 64});
  graph.weight("w", {64, 64});
  graph.number("three", 3);
  graph.op("MatMul", {"x", "w"}, "h");
  graph.op("Pow", {"h", "three"}, "y");
  graph.output("y");
  const Graph step = training_step(graph.built(), {}).graph;
  CHECK(ops_of_type(step, "Pow").size() == 2);  // and that of the forward pass
  CHECK(ops_of_type(step, "Mul").size() == 2);
  CHECK(ops_of_type(step, "ElementwiseGrad").empty());
}

// Kernels that keep a channel on the chip do, so a bound must not count more.
TEST_CASE("Training: batch normalisation reads each operand once at least") {
  PassCase graph;
  graph.input("x", {8, 16, 4, 4});
  for (const char* name : {"scale", "offset", "mean", "variance"}) {
    graph.weight(name, {16});
  }
  graph.op("BatchNormalization", {"x", "scale", "offset", "mean", "variance"}, "y");
  graph.output("y");
  const Graph forward = graph.built();
  const Graph step = training_step(forward, {}).graph;
  const int64_t tensor = 8 * 16 * 4 * 4 * 4;
  const int64_t inference = bytes_moved_by(forward, ops_of_type(forward, "BatchNormalization")[0]);
  CHECK(bytes_moved_by(step, ops_of_type(step, "BatchNormalization")[0]) == inference);
  // Gradient, input and the input's gradient, and scale and offset with their gradients.
  const auto back = ops_of_type(step, "NormGrad");
  REQUIRE(back.size() == 1);
  CHECK(bytes_moved_by(step, back[0]) == 3 * tensor + 4 * 16 * 4);
}

TEST_CASE("Training: another kernel sums a layer normalisation's scale and offset") {
  PassCase graph;
  graph.input("x", {8, 16, 64});
  graph.weight("scale", {64});
  graph.weight("offset", {64});
  graph.op("LayerNormalization", {"x", "scale", "offset"}, "y");
  graph.output("y");
  const Graph step = training_step(graph.built(), {}).graph;
  const auto back = ops_of_type(step, "NormGrad");
  REQUIRE(back.size() == 1);
  const int64_t tensor = 8 * 16 * 64 * 4;
  CHECK(bytes_moved_by(step, back[0]) == 5 * tensor + 4 * 64 * 4);
}

}  // namespace
}  // namespace dfsim
