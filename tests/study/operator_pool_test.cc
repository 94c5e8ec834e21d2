// Operators at once, on graphs whose schedules are plain: times by hand.
#include "study/roofline/scaling/operator_pool.h"

#include <catch2/catch.hpp>

#include "opmodel/workload.h"
#include "tests/passes/pass_case.h"

using namespace dfsim;

namespace {

LoadedModel loaded_case(PassCase& graph) {
  LoadedModel model;
  model.path = model.name = "hand";
  model.executed = graph.built();
  auto workload = make_workload(model.executed);
  REQUIRE(workload.ok());
  model.workload = std::move(*workload);
  return model;
}

// Two operators on the input, and a sum of their results.
LoadedModel two_branches() {
  PassCase graph;
  graph.input("x", {4, 8});
  graph.op("Relu", {"x"}, "a");
  graph.op("Tanh", {"x"}, "b");
  graph.op("Add", {"a", "b"}, "c");
  graph.output("c");
  return loaded_case(graph);
}

LoadedModel chain_of_three() {
  PassCase graph;
  graph.input("x", {4, 8});
  graph.op("Relu", {"x"}, "a");
  graph.op("Tanh", {"a"}, "b");
  graph.op("Sigmoid", {"b"}, "c");
  graph.output("c");
  return loaded_case(graph);
}

// Two operators on the input, with an output each.
LoadedModel two_apart() {
  PassCase graph;
  graph.input("x", {4, 8});
  graph.op("Relu", {"x"}, "a");
  graph.op("Tanh", {"x"}, "b");
  graph.output("a");
  graph.output("b");
  return loaded_case(graph);
}

// Eight cores: 8 GFLOP/s and 40 GB/s in all.
Platform eight_core_platform() {
  Platform platform;
  platform.name = "eight";
  DeviceSpec device;
  device.name = "cpu0";
  device.type = DeviceType::kCpu;
  device.compute_units = 8;
  device.peaks = {{DType::kFloat32, 8e9, 0}};
  device.memory_bytes_per_s = 40e9;
  device.memory_bytes = Bytes{1} << 30;
  platform.devices = {device};
  platform.host.node = "cpu0";
  platform.runtime.dispatch_ns = 1'000'000;  // which the pool leaves out
  return platform;
}

// Times of the operators of that type, in us.
std::vector<TimeNs> times_of(const LoadedModel& model,
                             const std::vector<std::pair<std::string, TimeNs>>& us) {
  std::vector<TimeNs> times(model.workload.rows.size(), 0);
  for (size_t row = 0; row < times.size(); ++row) {
    for (const auto& [type, time] : us) {
      times[row] = model.workload.rows[row].op_type == type ? 1000 * time : times[row];
    }
  }
  return times;
}

// One core's point per task: it moves `bytes` and does `flops`, at the roofs of one core.
RooflineReport one_core_points(const LoadedModel& model, double flops, double bytes) {
  RooflineReport one;
  for (size_t t = 0; t < model.workload.graph.task_count(); ++t) {
    RoofPoint point;
    point.task = static_cast<uint32_t>(t);
    point.name = std::to_string(t);
    point.flops = flops;
    point.bytes = bytes;
    point.compute_s = flops / 1e9;
    point.memory_s = bytes / 10e9;
    point.bound_s = std::max(point.compute_s, point.memory_s);
    point.time_s = point.bound_s;
    point.source = CostSource::kPredicted;
    one.ops.push_back(point);
  }
  return one;
}

ThreadScaling half_serial(double serial) {
  ThreadScaling scaling;
  scaling.serial = serial;
  scaling.core_bytes_per_s = 10e9;
  return scaling;
}

RooflineReport pooled(const LoadedModel& model, double flops, double bytes, const CoreShare& share,
                      double serial) {
  DeviceRoofs whole;
  whole.device = eight_core_platform().devices.front();
  auto report = pooled_roofline(one_core_points(model, flops, bytes), model, eight_core_platform(),
                                whole, share, half_serial(serial));
  INFO(report.status().message());
  REQUIRE(report.ok());
  return std::move(*report);
}

}  // namespace

TEST_CASE("pool_time: branches run at once, a chain does not") {
  const LoadedModel branches = two_branches();
  const auto times = times_of(branches, {{"Relu", 100}, {"Tanh", 60}, {"Add", 10}});
  const auto alone = pool_time(branches, eight_core_platform(), times, 1);
  const auto both = pool_time(branches, eight_core_platform(), times, 2);
  REQUIRE(alone.ok());
  REQUIRE(both.ok());
  CHECK(alone->makespan_s == Approx(170e-6));
  CHECK(alone->at_once == Approx(1));
  CHECK(both->makespan_s == Approx(110e-6));
  CHECK(both->at_once == Approx(170.0 / 110));
  const LoadedModel line = chain_of_three();
  const auto in_turn = pool_time(line, eight_core_platform(),
                                 times_of(line, {{"Relu", 5}, {"Tanh", 6}, {"Sigmoid", 7}}), 4);
  REQUIRE(in_turn.ok());
  CHECK(in_turn->makespan_s == Approx(18e-6));
  CHECK(in_turn->at_once == Approx(1));
}

TEST_CASE("pooled_roofline: a chain keeps its threads and its bandwidth") {
  const RooflineReport report =
      pooled(chain_of_three(), 1, 10e9, {.threads = 4, .inter = 2}, /*serial=*/0);
  // Three times 10 GB at the 40 GB/s that four cores draw.
  CHECK(report.network.time_s == Approx(0.75));
  CHECK_FALSE(report.pool.empty());
}

TEST_CASE("pooled_roofline: serial parts of branches overlap") {
  const LoadedModel model = two_apart();
  // 1 GFLOP each, 1 s on one core, half of it serial: 0.5 + 0.5 / 4 s, at once.
  const RooflineReport pool = pooled(model, 1e9, 1, {.threads = 4, .inter = 2}, 0.5);
  CHECK(pool.network.time_s == Approx(0.625));
  // 2 GFLOP at the 8 GFLOP/s of all cores.
  CHECK(pool.network.bound_s == Approx(0.25));
  CHECK(pool.network.efficiency() == Approx(0.4));
  // One after the other, with all cores: twice 0.5 + 0.5 / 8 s.
  DeviceRoofs whole;
  whole.device = eight_core_platform().devices.front();
  CHECK(scaled_roofline(one_core_points(model, 1e9, 1), whole, {.threads = 8}, half_serial(0.5))
            .network.time_s == Approx(1.125));
}

TEST_CASE("pooled_roofline: operators at once share the bandwidth") {
  const LoadedModel model = two_apart();
  // Four cores draw 40 GB/s alone, and 20 GB/s next to four others: 10 GB take 0.5 s.
  const RooflineReport pool = pooled(model, 1, 10e9, {.threads = 4, .inter = 2}, 0);
  CHECK(pool.network.time_s == Approx(0.5));
  CHECK(pool.network.bound_s == Approx(0.5));
  CHECK(pool.bytes_per_s == 40e9);
}
