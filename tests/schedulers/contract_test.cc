// What every policy must do, on every shape of graph and number of devices.
#include <catch2/catch.hpp>

#include "schedulers/registry.h"
#include "tests/schedulers/check_schedule.h"
#include "tests/schedulers/hand_graphs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

constexpr size_t kOptimalTasks = 9;  // the search is exact, so only small graphs

// Budgets that keep the searching policies quick.
PolicyOptions quick() {
  PolicyOptions options;
  options.iterations = 300;
  options.threads = 1;
  return options;
}

Schedule planned(const PolicyInfo& policy, const ProblemInstance& workload) {
  PolicyOptions options = quick();
  options.iterations = policy.name == "optimal" ? 0 : options.iterations;
  auto schedule = plan_with(policy, workload.problem(7), options);
  INFO(policy.name << " on " << workload.graph_name << ", " << workload.hardware_name << ": "
                   << schedule.status().message());
  REQUIRE(schedule.ok());
  return std::move(schedule).value();
}

void check_all(const ProblemInstance& workload) {
  for (const PolicyInfo& policy : builtin_policies()) {
    if (policy.name == "optimal" && workload.graph.task_count() > kOptimalTasks) {
      continue;
    }
    const Schedule schedule = planned(policy, workload);
    INFO(policy.name << " on " << workload.graph_name << ", " << workload.hardware_name);
    CHECK(check_schedule(workload.problem(), schedule) == "");
  }
}

constexpr GraphShape kShapes[] = {{"chain", 40},   {"fork-join", 40}, {"tree", 40},
                                  {"in-tree", 40}, {"layered", 60},   {"independent", 40},
                                  {"random", 40},  {"cholesky", 35},  {"two-components", 40},
                                  {"layered", 1},  {"layered", 0},    {"layered", 2},
                                  {"layered", 9}};

}  // namespace

TEST_CASE("every policy gives a valid schedule on every shape and number of devices") {
  for (const GraphShape& shape : kShapes) {
    for (const size_t devices : {1, 2, 3, 5, 16, 64}) {
      if (shape.tasks == kOptimalTasks && devices > 3) {
        continue;
      }
      check_all(generated(shape, devices, 1.0, 0.0, 3));
    }
    check_all(generated(shape, 3, 10.0, 0.5, 4));
    check_all(generated(shape, 3, 0.0, 0.0, 5, true));
    check_all(generated(shape, 1, 0.1, 0.0, 6, true));
  }
}

TEST_CASE("tasks that take no time and edges that carry nothing") {
  check_all(make_hand_instance({{0, 0}, {0, 0}, {0, 0}, {5, 5}, {0, 0}, {0, 0}},
                               {{1, 2, 0}, {2, 3, 0}, {3, 5, 0}, {4, 5, 0}, {5, 6, 3}, {1, 4, 0}}));
  check_all(make_hand_instance({{0, 0}, {0, 0}, {0, 0}}, {{1, 2, 0}, {2, 3, 0}}));
  check_all(make_hand_instance({{0, 4}, {3, 0}, {0, 0}, {2, 2}},
                               {{1, 2, 0}, {1, 3, 7}, {2, 4, 0}, {3, 4, 0}}));
}

TEST_CASE("tasks that only one device can run") {
  const ProblemInstance workload =
      make_hand_instance({{1, -1, -1}, {-1, 2, -1}, {-1, -1, 3}, {4, -1, -1}, {-1, 5, 6}},
                         {{1, 2, 2}, {2, 3, 2}, {3, 4, 2}, {3, 5, 1}});
  check_all(workload);
}

TEST_CASE("the same problem gives the same plan") {
  const ProblemInstance workload = generated({"layered", 60}, 4, 1.0, 0.2, 11);
  for (const PolicyInfo& policy : builtin_policies()) {
    if (policy.name == "optimal") {
      continue;
    }
    const Schedule a = planned(policy, workload);
    const Schedule b = planned(policy, workload);
    INFO(policy.name);
    REQUIRE(a.order == b.order);
    for (size_t i = 0; i < a.placements.size(); ++i) {
      REQUIRE(a.placements[i].planned_start_ns == b.placements[i].planned_start_ns);
    }
  }
}

TEST_CASE("problems that nobody can solve are refused by everybody, by name") {
  ProblemInstance no_devices = make_hand_instance({{1}}, {});
  no_devices.platform.devices.clear();
  ProblemInstance nowhere = make_hand_instance({{1}, {2}}, {});
  nowhere.costs.at(1, DeviceId(size_t{0})).time_ns = CostTable::kInfeasible;
  ProblemInstance narrow = make_hand_instance({{1, 2}}, {});
  narrow.platform.devices.pop_back();
  for (const PolicyInfo& policy : builtin_policies()) {
    INFO(policy.name);
    const auto none = plan_with(policy, no_devices.problem(), quick());
    CHECK(none.status().code() == StatusCode::kInvalidInput);
    CHECK(none.status().message().find("has no devices") != std::string::npos);
    const auto stuck = plan_with(policy, nowhere.problem(), quick());
    CHECK(stuck.status().code() == StatusCode::kInvalidInput);
    CHECK(stuck.status().message().find("task '2' can run on none") != std::string::npos);
    CHECK_FALSE(plan_with(policy, narrow.problem(), quick()).ok());
  }
}

TEST_CASE("memory-aware policies respect memories and say what never fits") {
  // Four tasks of 60 bytes; each device holds one of them, beside 10 bytes of data.
  for (const char* name : {"m-etf", "m-sct", "m-topo"}) {
    for (const Bytes capacity : {Bytes{150}, Bytes{70}, Bytes{69}}) {
      TaskGraph graph;
      for (int d = 0; d < 4; ++d) {
        graph.devices.push_back({std::string(1, static_cast<char>('a' + d)), capacity});
      }
      ExecGraphBuilder builder;
      for (size_t i = 0; i < 4; ++i) {
        ExecGraphBuilder::Task task;
        task.resident_bytes = 60;
        builder.add_task(task);
      }
      builder.add_edge(builder.add_data(TaskId(size_t{0}), 10), TaskId(size_t{1}));
      graph.graph = std::move(*builder.build());
      graph.times_ns = {100, 100, 100, 100};
      graph.comm = CommKind::kBytes;
      graph.bytes_per_s = 1e9;
      const auto workload = make_instance(std::move(graph), TaskGraphMachine{});
      REQUIRE(workload.ok());
      const PolicyRegistry registry;
      const auto schedule = plan_with(**registry.find(name), workload->problem());
      INFO(name << " " << capacity << " " << schedule.status().message());
      if (capacity == 69) {
        CHECK(schedule.status().message().find("fits on no device") != std::string::npos);
        continue;
      }
      REQUIRE(schedule.ok());
      CHECK(check_schedule(workload->problem(), *schedule) == "");
      for (const auto& order : schedule->order) {
        CHECK(order.size() <= (capacity == 150 ? 2U : 1U));
      }
    }
  }
}

TEST_CASE("Baechi's policies place on the fast, equal devices, and elsewhere only what must") {
  // Two fast devices of 70 bytes and a slow one without limit. Task 4 runs on the slow one only,
  // and of the others, which take 60 bytes each, two fit on the fast ones.
  for (const char* name : {"m-etf", "m-sct", "m-topo"}) {
    for (const Bytes capacity : {Bytes{0}, Bytes{70}}) {
      TaskGraph graph;
      graph.devices = {{"fast0", capacity}, {"slow", 0}, {"fast1", capacity}};
      ExecGraphBuilder builder;
      for (size_t i = 0; i < 4; ++i) {
        ExecGraphBuilder::Task task;
        task.resident_bytes = i < 3 ? 60 : 0;
        task.cost_row = i < 3 ? 0 : 1;
        builder.add_task(task);
      }
      builder.add_edge(builder.add_data(TaskId(size_t{0}), 1), TaskId(size_t{3}));
      graph.graph = std::move(*builder.build());
      graph.times_ns = {100, 1000, 110, CostTable::kInfeasible, 100, CostTable::kInfeasible};
      graph.comm = CommKind::kBytes;
      graph.bytes_per_s = 1e9;
      const auto workload = make_instance(std::move(graph), TaskGraphMachine{});
      REQUIRE(workload.ok());
      const PolicyRegistry registry;
      const auto schedule = plan_with(**registry.find(name), workload->problem());
      INFO(name << " " << capacity << " " << schedule.status().message());
      REQUIRE(schedule.ok());
      CHECK(check_schedule(workload->problem(), *schedule) == "");
      CHECK(schedule->order[1].size() == (capacity == 0 ? 1U : 2U));
      CHECK(schedule->placements[3].device == DeviceId(size_t{1}));
    }
  }
}

TEST_CASE("DONF and DONFM wait for memory") {
  // One device of 100 bytes: 0 -> 2 with 60 bytes, 1 -> 3 with 60. Only one item fits at a time, so
  // task 1 has to wait until 2 has read the first.
  for (const char* name : {"donf", "donfm"}) {
    TaskGraph graph;
    graph.devices = {{"P1", 100}};
    ExecGraphBuilder builder;
    for (int i = 0; i < 4; ++i) {
      builder.add_task({});
    }
    builder.add_edge(builder.add_data(TaskId(size_t{0}), 60), TaskId(size_t{2}));
    builder.add_edge(builder.add_data(TaskId(size_t{1}), 60), TaskId(size_t{3}));
    graph.graph = std::move(*builder.build());
    graph.times_ns = {100};
    graph.comm = CommKind::kBytes;
    const auto workload = make_instance(std::move(graph), TaskGraphMachine{});
    REQUIRE(workload.ok());
    const PolicyRegistry registry;
    const auto schedule = plan_with(**registry.find(name), workload->problem());
    INFO(name << " " << schedule.status().message());
    REQUIRE(schedule.ok());
    const std::vector<TaskId> expected = {TaskId(size_t{0}), TaskId(size_t{2}), TaskId(size_t{1}),
                                          TaskId(size_t{3})};
    CHECK(schedule->order[0] == expected);
  }
}

TEST_CASE("a chain of a million tasks and a wide graph need no deep recursion") {
  for (const GraphShape& shape :
       {GraphShape{"chain", 1'000'000}, GraphShape{"independent", 100'000}}) {
    const ProblemInstance workload = generated(shape, 2, 1.0, 0.0, 1);
    const PolicyRegistry registry;
    for (const char* name : {"heft", "peft", "dls", "etf", "donf", "critical-path"}) {
      const auto schedule = plan_with(**registry.find(name), workload.problem());
      INFO(shape.name << " " << name << " " << schedule.status().message());
      REQUIRE(schedule.ok());
      CHECK(schedule->planned_makespan_ns > 0);
    }
  }
}

TEST_CASE("the registry: selection, unknown names, additions") {
  PolicyRegistry registry;
  CHECK(registry.find("hefd").status().message().find("did you mean 'heft'") != std::string::npos);
  CHECK(registry.select("heft,peft,heft", 10)->size() == 2);
  CHECK_FALSE(registry.select("heft,,peft", 10).ok());
  CHECK(registry.select("all", 10)->size() == builtin_policies().size());
  CHECK(registry.select("all", 13)->size() == builtin_policies().size() - 1);
  PolicyInfo mine = *registry.find("heft").value();
  CHECK_FALSE(registry.add(mine).ok());
  mine.name = "mine";
  CHECK(registry.add(mine).ok());
  CHECK(registry.find("mine").ok());
  mine.name = "other";
  mine.make_static = nullptr;
  CHECK_FALSE(registry.add(mine).ok());
}
