// Plan files, and plans from file to simulated run.
#include <catch2/catch.hpp>
#include <string>

#include "base/name_pattern.h"
#include "opmodel/sol.h"
#include "partition/plans/parallel_degrees.h"
#include "partition/plans/plan_spec.h"
#include "study/partitioning/partitioning.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/test_graphs.h"

namespace dfsim {
namespace {

constexpr TimeNs kOpNs = 1000;

// Every small operator takes a microsecond.
Platform steady_platform(size_t devices) {
  Platform platform = switched_platform(devices);
  for (DeviceSpec& device : platform.devices) {
    device.peaks = {{DType::kFloat32, 1e18, 1e18}};
    device.memory_bytes_per_s = 1e18;
    device.launch_overhead_ns = kOpNs;
  }
  return platform;
}

Graph chain(int ops) {
  GraphMaker make;
  make.input("x", {4, 8});
  std::string last = "x";
  for (int i = 0; i < ops; ++i) {
    const std::string name = "r" + std::to_string(i);
    make.op("Relu", {last}, name);
    last = name;
  }
  return make.finish({last});
}

PlanRun run(const PlanSpec& spec, const Graph& graph, const Platform& platform,
            CollectiveMode mode = CollectiveMode::kModel) {
  auto result = run_plan(spec, graph, platform, *make_sol_model(), mode);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(*result);
}

PlanSpec spec_of(const ParallelDegrees& degrees, const Graph& graph, const Platform& platform) {
  auto spec = degrees_spec(degrees, graph, platform);
  INFO(spec.status().message());
  REQUIRE(spec.ok());
  return std::move(*spec);
}

std::string error_of(const std::string& text) {
  return parse_plan(text, "p.yaml").status().message();
}

TEST_CASE("patterns") {
  CHECK(matches_pattern("layer.10.weight", "layer.*.weight"));
  CHECK(matches_pattern("abc", "*"));
  CHECK(matches_pattern("", "*"));
  CHECK(matches_pattern("aXbXc", "a*X*c"));
  CHECK_FALSE(matches_pattern("abc", "ab"));
  CHECK_FALSE(matches_pattern("abc", "b*"));
  CHECK_FALSE(matches_pattern("abc", ""));
}

TEST_CASE("plan files are read strictly") {
  CHECK(error_of("mesh: {t: 2}\ntensor: []\n").find("did you mean 'tensors'") != std::string::npos);
  CHECK(error_of("model: m\n").find("mesh") != std::string::npos);
  CHECK(error_of("mesh: {t: zero}\n").find("p.yaml:1") != std::string::npos);
  CHECK(error_of("mesh: {t: 2}\nschedule: 1f2b\n").find("did you mean '1f1b'") !=
        std::string::npos);
  CHECK(error_of("mesh: {t: 2}\ntensors:\n  - {name: a}\n").find("cut") != std::string::npos);
  CHECK(error_of("mesh: {t: 2}\ntensors:\n  - {cut: [t]}\n").find("expected `name`") !=
        std::string::npos);
  CHECK(error_of("mesh: {t: 2}\nmicro_batches: 0\n").find("p.yaml:2") != std::string::npos);
  CHECK(error_of("").size() > 0);
}

TEST_CASE("a file written is the file read") {
  PlanFile plan;
  plan.model = "m \"quoted\"";
  plan.hardware = "h";
  plan.strategy = "dp 2 x tp 2";
  plan.batch = 8;
  plan.micro_batches = 4;
  plan.schedule = PipelineSchedule::kGpipe;
  plan.mesh = {{"data", 2}, {"tensor", 2}};
  plan.stages = {{{{"a", "b", "c", "d"}}}, {{{"e", "f", "g", "h"}}}};
  plan.until = {{"op 1", "op 2"}};
  plan.propagate = false;
  plan.tensors = {{{"w*"}, {{}, {"data", "tensor"}}}, {{"x", "y"}, {{"data"}, {}}}};
  plan.ops = {{{"o*"}, {{"k", {"tensor"}}}}};
  const std::string text = plan_yaml(plan);
  const auto read = parse_plan(text, "p.yaml");
  INFO(read.status().message());
  REQUIRE(read.ok());
  CHECK(plan_yaml(*read) == text);
  CHECK(read->tensors[0].cut[1] == std::vector<std::string>{"data", "tensor"});
  CHECK(read->stages[1].replicas[0][3] == "h");
  CHECK_FALSE(read->propagate);
}

TEST_CASE("names of a plan must mean something") {
  const Graph graph = transformer_layer(2, 4, 8, 4);
  const Platform platform = steady_platform(4);
  const auto resolve = [&](const std::string& text) {
    const auto file = parse_plan(text, "p.yaml");
    REQUIRE(file.ok());
    return resolve_plan(*file, graph, platform).status().message();
  };
  CHECK(resolve("mesh: {t: 4}\ntensors: [{name: w3, cut: [-, t]}]\n").find("unknown tensor 'w3'") !=
        std::string::npos);
  CHECK(
      resolve("mesh: {t: 4}\ntensors: [{name: w1, cut: [-, s]}]\n").find("unknown mesh axis 's'") !=
      std::string::npos);
  CHECK(resolve("mesh: {t: 4}\nops: [{name: nope, split: {k: t}}]\n").find("another model") !=
        std::string::npos);
  CHECK(resolve("mesh: {t: 4}\nops: [{name: up, split: {nope: t}}]\n").find("unknown factor") !=
        std::string::npos);
  CHECK(resolve("mesh: {t: 4}\nstages: [{replicas: [[d9, d1, d2, d3]]}]\n")
            .find("unknown device 'd9'") != std::string::npos);
  CHECK(resolve("mesh: {t: 2}\nstages: [{replicas: [[d1, d1]]}]\n").find("named twice") !=
        std::string::npos);
}

TEST_CASE("a plan described resolves to the same plan") {
  const Graph graph = transformer_layer(4, 4, 8, 4);
  const Platform platform = steady_platform(8);
  for (const ParallelDegrees& degrees :
       std::vector<ParallelDegrees>{{2, 2, 1, 1, PipelineSchedule::k1f1b, 1, false},
                                    {1, 4, 1, 1, PipelineSchedule::k1f1b, 1, false},
                                    {2, 2, 2, 4, PipelineSchedule::k1f1b, 1, false}}) {
    const PlanSpec spec = spec_of(degrees, graph, platform);
    const PlanRun first = run(spec, graph, platform);
    const PlanFile file = describe_plan(spec, first.compiled, graph, platform, "layer", 4);
    const auto read = parse_plan(plan_yaml(file), "p.yaml");
    REQUIRE(read.ok());
    const auto again = resolve_plan(*read, graph, platform);
    INFO(again.status().message());
    REQUIRE(again.ok());
    const PlanRun second = run(*again, graph, platform);
    CHECK(second.result.makespan_ns == first.result.makespan_ns);
    CHECK(second.compiled.sharding.tensors == first.compiled.sharding.tensors);
    CHECK(second.compiled.layout.stage_of == first.compiled.layout.stage_of);
  }
}

TEST_CASE("a pipeline of two stages by hand") {
  const Graph graph = chain(4);
  const Platform platform = steady_platform(2);
  const ParallelDegrees degrees{1, 1, 2, 4, PipelineSchedule::k1f1b, 1, false};
  const PlanRun pipeline = run(spec_of(degrees, graph, platform), graph, platform);
  // Two operators per stage, four micro-batches, one of them in the pipe alone; a tensor of 128
  // bytes takes 128 ns once, later ones move while the stages compute.
  CHECK(pipeline.result.makespan_ns == (4 + 1) * 2 * kOpNs + 128);
  CHECK(pipeline.compiled.until == std::vector<std::vector<std::string>>{{"r1"}});
  const PlanOutcome outcome = measure_plan(spec_of(degrees, graph, platform), pipeline, graph,
                                           platform, "chain", 16, nullptr);
  CHECK(outcome.stages == 2);
  CHECK(outcome.shares.compute == Approx(2.0 * 4 * 2 * kOpNs / (2.0 * (10 * kOpNs + 128))));
  CHECK(outcome.shares.bubble + outcome.shares.communication == Approx(1 - outcome.shares.compute));
}

TEST_CASE("interleaving fills the pipeline sooner") {
  const Graph graph = chain(8);
  const Platform platform = steady_platform(2);
  PlanSpec spec = spec_of({1, 1, 2, 4, PipelineSchedule::k1f1b, 1, false}, graph, platform);
  const TimeNs plain = run(spec, graph, platform).result.makespan_ns;
  CHECK(plain == (4 + 1) * 4 * kOpNs + 128);
  spec.chunks = 2;
  CHECK_FALSE(run_plan(spec, graph, platform, *make_sol_model(), CollectiveMode::kModel).ok());
  spec.schedule = PipelineSchedule::kInterleaved;
  const TimeNs interleaved = run(spec, graph, platform).result.makespan_ns;
  CHECK(interleaved < plain);
  CHECK(interleaved >= (4 * 4 + 2) * kOpNs);
}

TEST_CASE("a slow stage on two replicas") {
  // One operator of three units and one of one; three devices: 2 + 1 replicas are not better than
  // all three for everything, which PipeDream's split finds.
  const Graph graph = chain(4);
  const Platform platform = steady_platform(4);
  PlanSpec spec = spec_of({1, 1, 4, 8, PipelineSchedule::k1f1b, 1, false}, graph, platform);
  spec.replicate_stages = true;
  const PlanRun replicated = run(spec, graph, platform);
  size_t devices = 0;
  for (const auto& replicas : replicated.compiled.layout.groups) {
    devices += replicas.size();
  }
  CHECK(devices == 4);
  CHECK(replicated.result.makespan_ns >= 8 * kOpNs);  // 8 micro-batches x 4 us on 4 devices
}

TEST_CASE("a large product is shared with a slower device in proportion to its speed") {
  Platform platform = steady_platform(2);
  platform.devices[0].peaks = {{DType::kFloat32, 3e12, 0}};
  platform.devices[1].peaks = {{DType::kFloat32, 1e12, 0}};
  platform.devices[0].model = "fast";
  platform.devices[1].model = "slow";
  for (DeviceSpec& device : platform.devices) {
    device.launch_overhead_ns = 0;
  }
  for (LinkSpec& link : platform.links) {
    link.bytes_per_s = 1e15;
  }
  GraphMaker make;
  make.input("x", {1024, 1024});
  make.op("Relu", {"x"}, "r");
  make.weight("w", {1024, 1024});
  make.op("MatMul", {"r", "w"}, "y");
  const Graph graph = make.finish({"y"});
  const auto model = make_sol_model();
  const auto spec = uneven_spec(graph, platform, *model);
  INFO(spec.status().message());
  REQUIRE(spec.ok());
  REQUIRE(spec->uneven.size() == 1);
  CHECK(spec->uneven[0].helper == DeviceId(1));
  CHECK(spec->uneven[0].helper_extent == 256);  // a quarter
  const TimeNs shared = run(*spec, graph, platform).result.makespan_ns;
  PlanSpec alone = *spec;
  alone.uneven.clear();
  const TimeNs whole = run(alone, graph, platform).result.makespan_ns;
  CHECK(static_cast<double>(shared) / static_cast<double>(whole) == Approx(0.75).epsilon(0.01));
  const PlanFile file =
      describe_plan(*spec, run(*spec, graph, platform).compiled, graph, platform, "m", 1024);
  const auto read = parse_plan(plan_yaml(file), "p.yaml");
  REQUIRE(read.ok());
  const auto again = resolve_plan(*read, graph, platform);
  REQUIRE(again.ok());
  CHECK(run(*again, graph, platform).result.makespan_ns == shared);
  // Slow links eat the gain.
  for (LinkSpec& link : platform.links) {
    link.bytes_per_s = 1e8;
  }
  CHECK(uneven_spec(graph, platform, *model).status().message().find("links cost more") !=
        std::string::npos);
}

TEST_CASE("plans that the platform cannot run say so") {
  const Graph graph = transformer_layer(4, 4, 8, 4);
  const Platform platform = steady_platform(2);
  CHECK(degrees_spec({4, 1, 1, 1, PipelineSchedule::k1f1b, 1, false}, graph, platform)
            .status()
            .message()
            .find("choose smaller axes") != std::string::npos);
  PlanSpec spec = spec_of({2, 1, 1, 1, PipelineSchedule::k1f1b, 1, false}, graph, platform);
  spec.groups = 2;
  CHECK(run_plan(spec, graph, platform, *make_sol_model(), CollectiveMode::kModel)
            .status()
            .message()
            .find("needs 4 devices") != std::string::npos);
  Platform apart = platform;
  apart.links.pop_back();
  const PlanSpec pair = spec_of({1, 2, 1, 1, PipelineSchedule::k1f1b, 1, false}, graph, apart);
  CHECK(run_plan(pair, graph, apart, *make_sol_model(), CollectiveMode::kModel)
            .status()
            .message()
            .find("no links lead from d0 to d1") != std::string::npos);
}

TEST_CASE("degrees of strategies") {
  const auto names = [](const std::string& strategy, int64_t batch) {
    std::string text;
    for (const ParallelDegrees& degrees : degrees_of(strategy, 4, 4, batch, 0)) {
      text += degrees_name(degrees) + "/" + std::to_string(degrees.micro_batches) + "; ";
    }
    return text;
  };
  CHECK(names("dp", 4) == "dp 4/1; ");
  CHECK(names("tp", 4) == "tp 4/1; ");
  CHECK(names("pp", 8) == "pp 4/4; pp 4 replicated/4; pp 4/8; pp 4 replicated/8; ");
  CHECK(names("pp", 3) == "pp 4/1; ");
  CHECK(degrees_of("hybrid", 16, 4, 16, 0).size() == 10);
  CHECK(names("hybrid", 4) == "dp 2 x tp 2/1; dp 2 x pp 2/2; tp 2 x pp 2/2; tp 2 x pp 2/4; ");
}

}  // namespace
}  // namespace dfsim
