// Training steps: gradients against finite differences, arithmetic against hand-made counts, and
// sharded steps against whole ones.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "base/rng.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/onnx/importer.h"
#include "graphs/ops/infer.h"
#include "graphs/passes/cleanup/prune.h"
#include "graphs/training/training_graph.h"
#include "partition/plans/strategies.h"
#include "partition/sharding/shard_graph.h"
#include "partition/sharding/sharded_training.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/reference/reference_executor.h"
#include "tests/partition/sharding/check_sharded.h"
#include "tests/partition/test_graphs.h"

namespace dfsim {
namespace {

TrainingGraph step_of(const Graph& graph, TrainingOptions options = {}) {
  auto step = make_training_graph(graph, options);
  INFO(step.status().message());
  REQUIRE(step.ok());
  check_shapes(step->graph);
  return std::move(*step);
}

// The new weights are results, so that the executor's comparisons look at them.
TrainingGraph with_results(const Graph& graph, TrainingOptions options) {
  TrainingGraph step = step_of(graph, options);
  GraphBuilder builder(step.graph);
  for (size_t i = 0; i < step.graph.op_count(); ++i) {
    const Op& op = step.graph.op(OpId(i));
    if (training_pass(op) == TrainingPass::kUpdate) {
      builder.mark_output(op.outputs[0]);
    }
  }
  auto marked = builder.build();
  REQUIRE(marked.ok());
  step.graph = std::move(*marked);
  return step;
}

int64_t flops_of(const Graph& graph, bool updates) {
  int64_t flops = 0;
  for (size_t i = 0; i < graph.op_count(); ++i) {
    if (updates || training_pass(graph.op(OpId(i))) != TrainingPass::kUpdate) {
      const auto work = op_work(graph, OpId(i));
      REQUIRE(work.ok());
      flops += work->flops;
    }
  }
  return flops;
}

// Smooth numbers, so that no two elements of a window are equal.
std::vector<RefTensor> smooth_feeds(const Graph& graph) {
  std::vector<RefTensor> feeds = make_feeds(graph, 7);
  Rng rng(3);
  for (size_t t = 0; t < feeds.size(); ++t) {
    if (is_floating(graph.tensor(TensorId(t)).dtype) && !graph.constant(TensorId(t))) {
      for (double& value : feeds[t].values) {
        value = static_cast<double>(rng.below(20001)) / 10000 - 1;
      }
    }
  }
  return feeds;
}

double loss_of(const Graph& graph, const std::vector<RefTensor>& feeds) {
  const std::vector<RefTensor> values = run_reference(graph, feeds);
  double loss = 0;
  for (const TensorId output : graph.outputs()) {
    for (const double value : values[output.index()].values) {
      loss += value * value / 2;
    }
  }
  return loss;
}

// Some elements of every weight's gradient, against the slope of the loss.
void check_gradients(const Graph& graph, Recompute recompute = Recompute::kNone) {
  const TrainingGraph step = step_of(graph, {OptimizerKind::kSgd, recompute});
  std::vector<RefTensor> feeds = smooth_feeds(graph);
  std::vector<RefTensor> all = feeds;
  all.resize(step.graph.tensor_count());
  const std::vector<RefTensor> constants = make_feeds(step.graph, 0);
  for (size_t t = feeds.size(); t < all.size(); ++t) {
    all[t] = constants[t];
  }
  const std::vector<RefTensor> values = run_reference(step.graph, all);
  REQUIRE_FALSE(step.parameters.empty());
  for (const TrainingGraph::Parameter& parameter : step.parameters) {
    const RefTensor& gradient = values[parameter.gradient.index()];
    RefTensor& weight = feeds[parameter.weight.index()];
    REQUIRE(gradient.extents == weight.extents);
    for (size_t i = 0; i < weight.values.size();
         i += std::max<size_t>(1, weight.values.size() / 3)) {
      constexpr double kStep = 1e-5;
      const double there = weight.values[i];
      weight.values[i] = there + kStep;
      const double above = loss_of(graph, feeds);
      weight.values[i] = there - kStep;
      const double below = loss_of(graph, feeds);
      weight.values[i] = there;
      INFO(graph.tensor(parameter.weight).name << "[" << i << "]");
      CHECK(gradient.values[i] == Approx((above - below) / (2 * kStep)).epsilon(1e-4).margin(1e-6));
    }
  }
}

Graph mlp() {
  GraphMaker make;
  make.input("x", {8, 16});
  make.weight("w1", {16, 32});
  make.weight("w2", {32, 4});
  make.op("MatMul", {"x", "w1"}, "h");
  make.op("Relu", {"h"}, "a");
  make.op("MatMul", {"a", "w2"}, "y");
  return make.finish({"y"});
}

// Embedding, broadcasts, tied weights, parts and reductions.
Graph odds_and_ends() {
  using Ints = std::vector<int64_t>;
  GraphMaker make;
  make.input("ids", {3, 2}, DType::kInt64);
  make.weight("table", {5, 4});
  make.weight("scale", {1, 2, 1});
  make.weight("shift", {4});
  make.op("Gather", {"table", "ids"}, "rows", {{"axis", int64_t{0}}});
  make.op("Mul", {"rows", "scale"}, "scaled");
  make.op("Sub", {"scaled", "shift"}, "moved");
  make.op("Erf", {"moved"}, "bent");
  make.op("Transpose", {"table"}, "turned", {{"perm", Ints{1, 0}}});
  make.op("MatMul", {"bent", "turned"}, "scores");
  make.op("Concat", {"scores", "moved"}, "joined", {{"axis", int64_t{2}}});
  make.ints("axes", {1});
  make.op("ReduceSum", {"joined", "axes"}, "sums", {{"keepdims", int64_t{0}}});
  make.weight("left", {9, 2});
  make.weight("bias", {2});
  make.op("Gemm", {"sums", "left", "bias"}, "y");
  return make.finish({"y"});
}

TEST_CASE("gradients are the slopes of the loss") {
  check_gradients(mlp());
  check_gradients(transformer_layer(2, 3, 4, 2));
  check_gradients(small_conv_net(1));
  check_gradients(odds_and_ends());
}

TEST_CASE("computing activations again changes no gradient") {
  for (const Recompute recompute : {Recompute::kSelective, Recompute::kFull}) {
    check_gradients(transformer_layer(1, 2, 4, 2), recompute);
    check_gradients(odds_and_ends(), recompute);
    const Graph graph = transformer_layer(1, 2, 4, 2);
    CHECK(flops_of(step_of(graph, {OptimizerKind::kSgd, recompute}).graph, true) >
          flops_of(step_of(graph, {OptimizerKind::kSgd, Recompute::kNone}).graph, true));
  }
}

TEST_CASE("arithmetic of a two-layer network, by hand") {
  // Forward 8 x 16 x 32 + 8 x 32 x 4 multiply-adds; both weights' gradients as many again, and that
  // of the activation between them 8 x 4 x 32. ReLU 1 and its gradient 2 per element of 8 x 32, the
  // loss 2 per element of 8 x 4, updates per element of 16 x 32 + 32 x 4.
  const int64_t products = 2 * (2 * (4096 + 1024) + 1024);
  const int64_t rest = 3 * 256 + 2 * 32;
  const auto flops = [&](OptimizerKind optimizer) {
    return flops_of(step_of(mlp(), {optimizer, Recompute::kNone}).graph, true);
  };
  CHECK(flops(OptimizerKind::kSgd) == products + rest + 2 * 640);
  CHECK(flops(OptimizerKind::kMomentum) == products + rest + 2 * 2 * 640);
  CHECK(flops(OptimizerKind::kAdam) == products + rest + 3 * 4 * 640);
  const TrainingGraph step = step_of(mlp());
  REQUIRE(step.parameters.size() == 2);
  CHECK(step.parameters[0].states.size() == 2);
  CHECK(step.without_rule == 0);
}

TEST_CASE("transformers take six operations per weight and token, and attention") {
  for (const std::string name : {"gpt2", "bert_base", "bert_large"}) {
    INFO(name);
    ImportOptions options;
    options.batch = 2;
    auto model = import_onnx(DFSIM_SOURCE_DIR "/graphs/zoo/" + name + ".onnx", options);
    REQUIRE(model.ok());
    auto pruned = prune(model->graph);
    REQUIRE(pruned.ok());
    const Graph& graph = pruned->graph;
    double weights_by_tokens = 0;  // of matrices, each with the rows that meet it
    double attention = 0;
    for (size_t i = 0; i < graph.op_count(); ++i) {
      const Op& op = graph.op(OpId(i));
      if (op.op_type != "MatMul" && op.op_type != "Gemm") {
        continue;
      }
      const Tensor& a = graph.tensor(op.inputs[0]);
      const Tensor& b = graph.tensor(op.inputs[1]);
      const auto k = static_cast<double>(a.shape[a.shape.rank() - 1].extent());
      if (b.role == TensorRole::kWeight) {
        const auto tokens = static_cast<double>(a.shape.elements().value()) / k;
        weights_by_tokens += static_cast<double>(b.shape.elements().value()) * tokens;
      } else {
        const Shape& out = graph.tensor(op.outputs[0]).shape;
        attention += 2 * k * static_cast<double>(out.elements().value());
      }
    }
    REQUIRE(weights_by_tokens > 1e9);
    REQUIRE(attention > 0);
    const TrainingGraph step = step_of(graph);
    CHECK(step.without_rule == 0);
    const double expected = 6 * weights_by_tokens + 3 * attention;
    CHECK(static_cast<double>(flops_of(step.graph, false)) == Approx(expected).epsilon(0.03));
  }
}

void check_step(const Graph& graph, const DeviceMesh& mesh, const std::vector<ShardingSeed>& seeds,
                Recompute recompute) {
  const auto plan = propagate_sharding(graph, mesh, seeds);
  REQUIRE(plan.ok());
  const TrainingGraph step = with_results(graph, {OptimizerKind::kSgd, recompute});
  const auto whole = shard_plan_of_training_step(graph, mesh, *plan, step);
  INFO(whole.status().message());
  REQUIRE(whole.ok());
  const auto sharded = shard_graph(step.graph, mesh, *whole);
  REQUIRE(sharded.ok());
  check_shapes(sharded->graph);
  std::vector<RefTensor> feeds = smooth_feeds(step.graph);
  const auto expected = run_reference(step.graph, feeds);
  bool agree = false;
  const auto results = run_sharded(step.graph, mesh, *whole, *sharded, feeds, &agree);
  CHECK(agree);
  REQUIRE(results.size() == step.parameters.size());
  for (size_t o = 0; o < results.size(); ++o) {
    INFO(step.graph.tensor(step.graph.outputs()[o]).name);
    CHECK(nearly_equal(results[o], expected[step.graph.outputs()[o].index()]));
  }
}

TEST_CASE("a sharded step gives the new weights of a whole one") {
  const DeviceMesh mesh = make_mesh({{"data", 2}, {"tensor", 2}});
  for (const bool convolutions : {false, true}) {
    for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
      const Graph graph = convolutions ? small_conv_net(4) : transformer_layer(2, 3, 8, 2);
      auto seeds = data_parallel_seeds(graph, mesh, 1);
      REQUIRE(seeds.ok());
      const auto columns = tensor_parallel_seeds(graph, mesh, 2);
      REQUIRE(columns.ok());
      seeds->insert(seeds->end(), columns->begin(), columns->end());
      check_step(graph, mesh, *seeds, recompute);
    }
  }
}

TEST_CASE("so does a step with a vocabulary cut by rows, of a table that is read twice") {
  GraphMaker make;
  make.input("ids", {4, 2}, DType::kInt64);
  make.weight("words", {4, 6});
  make.weight("places", {2, 6});
  make.ints("where", {0, 1});
  make.op("Gather", {"words", "ids"}, "named");
  make.op("Gather", {"places", "where"}, "placed");
  make.op("Add", {"named", "placed"}, "x");
  make.op("Transpose", {"words"}, "turned");
  make.op("MatMul", {"x", "turned"}, "logits");
  const Graph graph = make.finish({"logits"});
  const DeviceMesh mesh = make_mesh({{"data", 2}, {"tensor", 2}});
  auto seeds = data_parallel_seeds(graph, mesh, 1);
  REQUIRE(seeds.ok());
  seeds->push_back({tensor_named(graph, "words"), {{2, 0}, 0, Reduction::kNone}});
  seeds->push_back({tensor_named(graph, "places"), {{2, 0}, 0, Reduction::kNone}});
  check_step(graph, mesh, *seeds, Recompute::kNone);
  check_step(graph, mesh, *seeds, Recompute::kFull);
}

TEST_CASE("the backward pass of Megatron's split has two all-reduces, and sums before them") {
  const Graph graph = transformer_layer(2, 4, 16, 4);
  const DeviceMesh mesh = make_mesh({{"tensor", 4}});
  const auto seeds = tensor_parallel_seeds(graph, mesh, 1);
  REQUIRE(seeds.ok());
  const auto plan = propagate_sharding(graph, mesh, *seeds);
  REQUIRE(plan.ok());
  size_t without_rule = 0;
  const auto sharded = shard_training_step(graph, mesh, *plan, {}, &without_rule);
  REQUIRE(sharded.ok());
  const std::vector<TrainingPass> passes = training_passes(sharded->graph);
  size_t forward = 0;
  size_t backward = 0;
  for (const Communication& entry : sharded->report.communications) {
    CHECK(sharded->graph.op(entry.op).op_type == "AllReduce");
    forward += passes[entry.op.index()] == TrainingPass::kForward ? 1 : 0;
    backward += passes[entry.op.index()] == TrainingPass::kBackward ? 1 : 0;
  }
  CHECK(forward == 2);
  CHECK(backward == 2);
  CHECK(sharded->report.communications.size() == 4);
}

TEST_CASE("what cannot be trained is refused") {
  GraphMaker make;
  make.input("x", {2, 2});
  make.op("Relu", {"x"}, "y");
  const auto none = make_training_graph(make.finish({"y"}), {});
  REQUIRE_FALSE(none.ok());
  CHECK(none.status().message().find("nothing to train") != std::string::npos);
  CHECK(optimizer_of("adma").status().message().find("did you mean 'adam'") != std::string::npos);
  CHECK(recompute_of("al").status().message().find("selective") != std::string::npos);
}

}  // namespace
}  // namespace dfsim
