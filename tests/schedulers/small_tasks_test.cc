// Groups of small tasks: by hand, and plans and runs of every policy on generated graphs.
#include "schedulers/small_tasks.h"

#include <catch2/catch.hpp>
#include <set>

#include "schedulers/registry.h"
#include "sim/invariants.h"
#include "study/chain/policy_run.h"
#include "tests/schedulers/check_schedule.h"
#include "tests/schedulers/hand_graphs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

std::unique_ptr<SmallTaskGroups> groups_of(const SchedulingProblem& problem) {
  auto groups = SmallTaskGroups::make(problem);
  INFO(groups.status().message());
  REQUIRE(groups.ok());
  return std::move(groups).value();
}

}  // namespace

TEST_CASE("a task joins its producer when moving it cannot pay") {
  // 1 -> 2 (small: 3 at most, its input takes 4) -> 3 (not small: 5 > 4) -> 4 (small, but only P2
  // runs it) ; 1 -> 5 (small), 2 and 5 -> 6 (small, all inputs in one group); 3 and 6 -> 7 (small,
  // of two groups).
  const ProblemInstance instance = make_hand_instance(
      {{9, 9}, {1, 3}, {5, 1}, {-1, 1}, {4, 4}, {1, 1}, {1, 1}},
      {{1, 2, 4}, {2, 3, 4}, {3, 4, 9}, {1, 5, 4}, {2, 6, 1}, {5, 6, 1}, {3, 7, 9}, {6, 7, 9}});
  const auto groups = groups_of(instance.problem());
  REQUIRE(groups->group_count() == 4);
  const auto members = [&](size_t group) {
    std::vector<std::string> names;
    for (const TaskId task : groups->tasks_of(TaskId(group))) {
      names.push_back(instance.graph.name(task));
    }
    return names;
  };
  CHECK(members(0) == std::vector<std::string>{"1", "2", "5", "6"});
  CHECK(members(1) == std::vector<std::string>{"3"});
  CHECK(members(2) == std::vector<std::string>{"4"});
  CHECK(members(3) == std::vector<std::string>{"7"});
  const SchedulingProblem grouped = groups->grouped();
  CHECK(grouped.costs.time_ns(0, DeviceId(size_t{0})) == 15 * kNsPerFileUnit);
  CHECK(grouped.costs.time_ns(0, DeviceId(size_t{1})) == 17 * kNsPerFileUnit);
  CHECK_FALSE(grouped.costs.feasible(2, DeviceId(size_t{0})));
  CHECK(grouped.graph.edge_count() == 4);
}

TEST_CASE("every policy places groups as one, validly, in plans and in runs") {
  for (const char* shape : {"layered", "tree", "chain", "random", "two-components"}) {
    for (const double ccr : {0.5, 2.0, 20.0}) {
      const ProblemInstance instance = generated({shape, 60}, 4, ccr, 0.2, 5);
      const auto problem = instance.problem(3);
      const auto groups = groups_of(problem);
      for (const PolicyInfo& policy : builtin_policies()) {
        if (policy.name == "optimal") {
          continue;
        }
        INFO(policy.name << " on " << shape << ", ccr " << ccr);
        PolicyOptions options;
        options.iterations = 300;
        if (!policy.online()) {
          const auto plan = plan_with(policy, groups->grouped(), options);
          REQUIRE(plan.ok());
          const auto expanded = groups->expand(*plan);
          REQUIRE(expanded.ok());
          CHECK(check_schedule(problem, *expanded) == "");
        }
        PolicyRunOptions run_options;
        run_options.policy = options;
        run_options.group_small_tasks = true;
        const SimInput input{problem.graph, problem.costs, problem.platform};
        InvariantChecker checker(input, run_options.sim);
        const auto run = run_policy(problem, policy, run_options, &checker);
        INFO(run.status().message());
        REQUIRE(run.ok());
        CHECK(checker.violations(run->result) == "");
        for (size_t g = 0; g < groups->group_count(); ++g) {
          std::set<uint32_t> devices;
          for (const TaskId task : groups->tasks_of(TaskId(g))) {
            devices.insert(run->result.tasks[task.index()].device.value());
          }
          CHECK(devices.size() == 1);
        }
      }
    }
  }
}

TEST_CASE("what is no plan of the groups is refused") {
  const ProblemInstance instance = make_hand_instance({{9, 9}, {1, 1}, {9, 9}}, {{1, 2, 4}});
  const auto groups = groups_of(instance.problem());
  REQUIRE(groups->group_count() == 2);
  Schedule plan;
  CHECK_FALSE(groups->expand(plan).ok());
  plan.placements = {{DeviceId(size_t{0}), 0, 0}, {DeviceId(size_t{1}), 0, 0}};
  plan.order = {{TaskId(size_t{0})}, {}};
  CHECK_FALSE(groups->expand(plan).ok());
  plan.order = {{TaskId(size_t{0})}, {TaskId(size_t{7})}};
  CHECK_FALSE(groups->expand(plan).ok());
  plan.order = {{TaskId(size_t{0})}, {TaskId(size_t{1})}};
  CHECK(groups->expand(plan).ok());
}
