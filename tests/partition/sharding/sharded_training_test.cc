// Simulated training steps: memory, exchange of gradients, pipelines, and devices that stand for
// others.
#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <string>

#include "hardware/platform_loader.h"
#include "opmodel/sol.h"
#include "partition/plans/cluster.h"
#include "partition/plans/parallel_degrees.h"
#include "partition/plans/plan_spec.h"
#include "study/partitioning/partitioning.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/test_graphs.h"

namespace dfsim {
namespace {

// Operators of a platform whose figures are large take `launch_ns` each.
Platform steady(size_t devices, TimeNs launch_ns) {
  Platform platform = switched_platform(devices);
  for (DeviceSpec& device : platform.devices) {
    device.peaks = {{DType::kFloat32, 1e18, 1e18}};
    device.memory_bytes_per_s = 1e18;
    device.launch_overhead_ns = launch_ns;
  }
  return platform;
}

PlanSpec training_spec(const ParallelDegrees& degrees, const Graph& graph,
                       const Platform& platform) {
  auto spec = degrees_spec(degrees, graph, platform);
  INFO(spec.status().message());
  REQUIRE(spec.ok());
  spec->training = TrainingPlan();
  return std::move(*spec);
}

PlanRun run_training(const PlanSpec& spec, const Graph& graph, const Platform& platform,
                     CollectiveMode mode = CollectiveMode::kModel) {
  auto result = run_plan(spec, graph, platform, *make_sol_model(), mode);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(*result);
}

PlanOutcome outcome(const PlanSpec& spec, const PlanRun& run, const Graph& graph,
                    const Platform& platform) {
  return measure_plan(spec, run, graph, platform, "m", 8, nullptr);
}

Graph mlp(int64_t batch) {
  GraphMaker make;
  make.input("x", {batch, 16});
  make.weight("w1", {16, 32});
  make.weight("w2", {32, 4});
  make.op("MatMul", {"x", "w1"}, "h");
  make.op("Relu", {"h"}, "a");
  make.op("MatMul", {"a", "w2"}, "y");
  return make.finish({"y"});
}

Graph layers(int count, int64_t batch, int64_t width) {
  GraphMaker make;
  make.input("x", {batch, width});
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    make.weight("w" + n, {width, width});
    make.op("MatMul", {last, "w" + n}, "h" + n);
    make.op("Relu", {"h" + n}, "a" + n);
    last = "a" + n;
  }
  return make.finish({last});
}

TEST_CASE("Training memory: a two-layer network on one device needs the bytes computed by hand") {
  const Platform platform = steady(1, 1000);
  const Graph graph = mlp(8);
  PlanSpec spec = training_spec({}, graph, platform);
  const PlanOutcome adam = outcome(spec, run_training(spec, graph, platform), graph, platform);
  const Bytes weights = (16 * 32 + 32 * 4) * 4;
  CHECK(adam.resident.weights == weights);
  CHECK(adam.resident.gradients == weights);
  CHECK(adam.resident.optimizer == 2 * weights + 4 + 8);  // and its rate and step
  // The most at once: the kept activation, its gradient, and the gradient before the ReLU; and the
  // result's gradient, whose last reader ends in the same instant.
  CHECK(adam.activation_bytes() == 3 * 8 * 32 * 4 + 8 * 4 * 4);
  CHECK(adam.memory_bytes == 4 * weights + 12 + adam.activation_bytes());
  spec.training->options.optimizer = OptimizerKind::kSgd;
  CHECK(outcome(spec, run_training(spec, graph, platform), graph, platform).resident.optimizer ==
        0);
  spec.training->options.optimizer = OptimizerKind::kMomentum;
  CHECK(outcome(spec, run_training(spec, graph, platform), graph, platform).resident.optimizer ==
        weights + 12);
}

TEST_CASE("Training memory: recomputing activations takes less memory and more time") {
  const Platform platform = steady(1, 1000);
  const Graph graph = layers(16, 64, 8);
  PlanSpec spec = training_spec({}, graph, platform);
  const PlanRun kept = run_training(spec, graph, platform);
  spec.training->options.recompute = Recompute::kFull;
  const PlanRun again = run_training(spec, graph, platform);
  CHECK(outcome(spec, again, graph, platform).activation_bytes() <
        outcome(spec, kept, graph, platform).activation_bytes() * 2 / 3);
  CHECK(again.result.makespan_ns > kept.result.makespan_ns);
}

TEST_CASE("Training step: exchanges gradients in buckets during the backward pass") {
  const Platform platform = steady(4, 50000);
  const Graph graph = layers(8, 8, 64);
  const Bytes one = 64 * 64 * 4;
  PlanSpec spec = training_spec({4, 1, 1, 1}, graph, platform);
  const auto exchanges = [&](Bytes bucket) {
    spec.training->bucket_bytes = bucket;
    return run_training(spec, graph, platform);
  };
  const PlanRun alone = exchanges(0);
  const PlanRun single = exchanges(1);
  const PlanRun pairs = exchanges(2 * one);
  const PlanRun all = exchanges(1000 * one);
  CHECK(alone.compiled.program.gradient_exchanges == 8);
  CHECK(single.compiled.program.gradient_exchanges == 8);
  CHECK(pairs.compiled.program.gradient_exchanges == 4);
  CHECK(all.compiled.program.gradient_exchanges == 1);
  // 16 KiB at 1 byte/ns: 1.5 x 16 KiB for each, which the backward pass of 50 us an operator hides
  // but for the last one.
  const TimeNs each = 3 * one / 2;
  CHECK(alone.result.makespan_ns - single.result.makespan_ns == Approx(7.0 * each).epsilon(0.05));
  CHECK(all.result.makespan_ns == Approx(alone.result.makespan_ns).epsilon(0.05));
  // Every replica works on a quarter of the batch: the same operators on all four.
  for (size_t d = 1; d < 4; ++d) {
    CHECK(single.result.devices[d].busy_ns == single.result.devices[0].busy_ns);
  }
  CHECK(single.compiled.program.memory[0].gradients == 8 * one);
}

TEST_CASE("Training pipeline: equal stages take (m + p - 1) times both passes") {
  const TimeNs launch = 1000;
  const Platform platform = steady(4, launch);
  const Graph graph = layers(4, 16, 8);
  const uint32_t micro_batches = 8;
  std::vector<Bytes> early;
  for (const auto schedule : {PipelineSchedule::k1f1b, PipelineSchedule::kGpipe}) {
    PlanSpec spec = training_spec({1, 1, 4, micro_batches, schedule, 1}, graph, platform);
    spec.training->options.optimizer = OptimizerKind::kSgd;
    spec.until = {{"a0"}, {"a1"}, {"a2"}};
    const PlanRun pipeline = run_training(spec, graph, platform);
    // Forward: product and ReLU; backward: ReLU's, two products (one in the first stage); messages
    // of 512 bytes at 1 byte/ns; the loss in the last stage; one update at the end.
    const double step = 5.0 * launch;
    const double expected = (micro_batches + 3) * step + 2 * 3 * 512 + launch;
    CHECK(static_cast<double>(pipeline.result.makespan_ns) == Approx(expected).epsilon(0.1));
    CHECK(static_cast<double>(pipeline.result.makespan_ns) >= micro_batches * step);
    early.push_back(pipeline.result.devices[0].peak_memory_bytes);
  }
  // 1F1B holds as many micro-batches as there are stages, GPipe all of them.
  CHECK(early[0] + 3 * 16 * 8 * 4 <= early[1]);
}

TEST_CASE("Training step: all kinds of parallelism train, with formulas and with flows") {
  const Platform platform = switched_platform(8, 100);
  Platform rated = platform;
  for (DeviceSpec& device : rated.devices) {
    device.peaks = {{DType::kFloat32, 1e10, 1e10}};
    device.memory_bytes_per_s = 1e12;
  }
  const Graph graph = transformer_layer(8, 8, 32, 4);
  for (const ParallelDegrees& degrees :
       {ParallelDegrees{8, 1, 1, 1}, {1, 4, 1, 1}, {1, 1, 2, 4}, {2, 2, 2, 2}}) {
    INFO(degrees_name(degrees));
    GraphMaker unused;
    const Graph micro = transformer_layer(8 / degrees.micro_batches * 1, 8, 32, 4);
    const Graph& used = degrees.micro_batches == 1 ? graph : micro;
    if (used.tensor(used.inputs()[0]).shape[0].extent() % degrees.data != 0) {
      continue;
    }
    const PlanSpec spec = training_spec(degrees, used, rated);
    const PlanRun model = run_training(spec, used, rated);
    const PlanRun flow = run_training(spec, used, rated, CollectiveMode::kFlow);
    CHECK(model.result.makespan_ns > 0);
    CHECK(flow.result.makespan_ns >= model.result.makespan_ns * 9 / 10);
    const PlanOutcome result = outcome(spec, model, used, rated);
    CHECK(result.devices == static_cast<size_t>(degrees.devices()));
    // Each weight's gradient takes as much as the weight (the states of Adam twice that), whatever
    // the split; the scalars of the optimiser are 12 bytes.
    CHECK(result.resident.optimizer / 2 - result.resident.gradients <= 6);
    CHECK(result.resident.optimizer >= 2 * result.resident.gradients);
  }
}

TEST_CASE("Training step: one device represents all that do the same") {
  auto platform =
      load_platform(std::string(DFSIM_SOURCE_DIR) + "/hardware/platforms/nodes/8xdgx-a100.yaml");
  REQUIRE(platform.ok());
  auto two = resize_cluster(*platform, 2);
  REQUIRE(two.ok());
  REQUIRE(two->devices.size() == 16);
  const Graph graph = transformer_layer(4, 64, 256, 8);
  for (const bool training : {true, false}) {
    for (const ParallelDegrees& degrees :
         {ParallelDegrees{2, 4, 2, 4}, {4, 4, 1, 1}, {2, 1, 8, 8}, {1, 4, 4, 2}}) {
      INFO(degrees_name(degrees) << (training ? ", training" : ""));
      PlanSpec spec = training_spec(degrees, graph, *two);
      if (!training) {
        spec.training.reset();
      }
      const PlanRun all = run_training(spec, graph, *two);
      spec.use_symmetry = true;
      const PlanRun some = run_training(spec, graph, *two);
      INFO(some.compiled.program.asymmetry);
      CHECK(some.compiled.program.stands_for == degrees.data * degrees.tensor);
      CHECK(some.result.makespan_ns == all.result.makespan_ns);
      const PlanOutcome one = outcome(spec, some, graph, *two);
      const PlanOutcome each = outcome(spec, all, graph, *two);
      CHECK(one.devices == each.devices);
      CHECK(one.memory_bytes == each.memory_bytes);
      CHECK(one.bytes_moved == each.bytes_moved);
      CHECK(one.shares.compute == Approx(each.shares.compute));
      CHECK(static_cast<int64_t>(some.compiled.program.graph.task_count()) *
                some.compiled.program.stands_for ==
            static_cast<int64_t>(all.compiled.program.graph.task_count()));
    }
  }
}

TEST_CASE("Training step: compiles and simulates 48 layers on 1,024 devices") {
  auto platform =
      load_platform(std::string(DFSIM_SOURCE_DIR) + "/hardware/platforms/nodes/8xdgx-a100.yaml");
  REQUIRE(platform.ok());
  const auto cluster = resize_cluster(*platform, 128);
  REQUIRE(cluster.ok());
  REQUIRE(cluster->devices.size() == 1024);
  // 16 sequences of 2,048 per micro-batch, 39 billion weights.
  const Graph graph = transformer_stack(48, 16, 2048, 8192, 64);
  PlanSpec spec = training_spec({16, 8, 8, 32}, graph, *cluster);
  spec.use_symmetry = true;
  const auto begin = std::clock();
  const PlanRun step = run_training(spec, graph, *cluster);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  WARN("1,024 devices x 48 layers: " << seconds << " s of CPU, "
                                     << step.compiled.program.graph.task_count() << " tasks");
  CHECK(seconds < 30);
  CHECK(step.compiled.program.stands_for == 128);
  const PlanOutcome result = outcome(spec, step, graph, *cluster);
  CHECK(result.devices == 1024);
  // No faster than 6 operations per weight and token at 312 TFLOP/s (bf16) on every device.
  const double flops = 6.0 * 48 * 12 * 8192 * 8192 * 16 * 32 * 2048;
  CHECK(static_cast<double>(step.result.makespan_ns) > flops / 1024 / 312e3);
  CHECK(result.resident.optimizer - 12 <= 2 * result.resident.gradients);
}

TEST_CASE("Training step: the first of two stages that read a weight updates it, once") {
  GraphMaker make;
  make.input("ids", {8, 4}, DType::kInt64);
  make.weight("table", {64, 16});
  make.op("Gather", {"table", "ids"}, "rows");
  make.weight("w", {16, 16});
  make.op("MatMul", {"rows", "w"}, "middle");
  make.op("Transpose", {"table"}, "turned", {{"perm", std::vector<int64_t>{1, 0}}});
  make.op("MatMul", {"middle", "turned"}, "y");
  const Graph graph = make.finish({"y"});
  const Platform platform = steady(4, 1000);
  PlanSpec spec = training_spec({2, 1, 2, 2}, graph, platform);
  spec.until = {{"middle"}};
  const PlanRun tied = run_training(spec, graph, platform);
  CHECK(tied.compiled.program.memory[0].optimizer == 2 * (64 + 16) * 16 * 4 + 12);
  CHECK(tied.compiled.program.memory[2].optimizer == 0);
  // The second stage sends its part of the gradient once per step and rank, not once per
  // micro-batch. In addition, the activation goes to the second stage and its gradient back.
  CHECK(tied.result.bytes_moved == 2 * (64 * 16 * 4) + 2 * 2 * (8 * 4 * 16 * 4));
}

TEST_CASE("Training step: devices that differ are simulated one by one, and so are flows") {
  Platform platform = steady(4, 1000);
  const Graph graph = layers(2, 8, 16);
  PlanSpec spec = training_spec({4, 1, 1, 1}, graph, platform);
  spec.use_symmetry = true;
  CHECK(run_training(spec, graph, platform).compiled.program.stands_for == 4);
  CHECK(run_training(spec, graph, platform, CollectiveMode::kFlow).compiled.program.stands_for ==
        1);
  platform.devices[2].launch_overhead_ns = 2000;
  const PlanRun uneven = run_training(spec, graph, platform);
  CHECK(uneven.compiled.program.stands_for == 1);
  CHECK(uneven.compiled.program.asymmetry.find("not alike") != std::string::npos);
}

TEST_CASE("Clusters: can have more or fewer nodes than their file") {
  auto platform =
      load_platform(std::string(DFSIM_SOURCE_DIR) + "/hardware/platforms/nodes/8xdgx-a100.yaml");
  REQUIRE(platform.ok());
  const auto more = resize_cluster(*platform, 12);
  REQUIRE(more.ok());
  CHECK(more->devices.size() == 96);
  CHECK(more->devices[95].name == "node11gpu7");
  CHECK(more->links.size() == platform->links.size() / 8 * 12);
  CHECK(std::count(more->switches.begin(), more->switches.end(), "nvswitch11") == 1);
  CHECK(node_size(*more, 96) == 8);
  const auto fewer = resize_cluster(*platform, 1);
  REQUIRE(fewer.ok());
  CHECK(fewer->devices.size() == 8);
  CHECK(fewer->links.size() == platform->links.size() / 8);
  const auto none = resize_cluster(steady(4, 1), 2);
  REQUIRE_FALSE(none.ok());
  CHECK(none.status().message().find("not a cluster") != std::string::npos);
  CHECK_FALSE(resize_cluster(*platform, 100000).ok());
}

TEST_CASE("Training plans: those that training cannot run are refused") {
  const Platform platform = steady(4, 1000);
  const Graph graph = layers(8, 4, 8);
  PlanSpec spec = training_spec({1, 1, 4, 4}, graph, platform);
  spec.devices = {{{DeviceId(0)}, {DeviceId(1)}}, {{DeviceId(2)}, {DeviceId(3)}}};
  spec.groups = 2;
  spec.until = {{"a3"}};
  const auto refused =
      run_plan(spec, graph, platform, *make_sol_model(), CollectiveMode::kModel).status();
  CHECK(refused.message().find("several replicas are for inference") != std::string::npos);
}

}  // namespace
}  // namespace dfsim
