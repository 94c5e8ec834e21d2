#include "sim/engine/static_plan.h"

#include <catch2/catch.hpp>

#include "tests/sim/sim_case.h"

using namespace dfsim;

namespace {

// a and b on d0, c (which reads a) on d1.
SimCase three_tasks() {
  SimCase sim(2);
  const TaskId a = sim.task(10, 0);
  sim.task(10, 0);
  const TaskId c = sim.task(10, 1);
  sim.edge(a, c, 1);
  sim.build();
  return sim;
}

std::string error_of_plan(const SimCase& sim) {
  const auto placement = planned_placement(sim.input(), sim.schedule);
  return placement.ok() ? "" : std::string(placement.status().message());
}

bool keeps_order(uint32_t /*device*/) { return true; }

}  // namespace

TEST_CASE("StaticPlan: a plan that fits gives the device of each task", "[sim]") {
  const SimCase sim = three_tasks();
  const auto placement = planned_placement(sim.input(), sim.schedule);
  REQUIRE(placement.ok());
  CHECK(*placement == std::vector<uint32_t>{0, 0, 1});
}

TEST_CASE("StaticPlan: plans that do not fit are errors", "[sim]") {
  SimCase sim = three_tasks();
  SECTION("no placement for a task") {
    sim.schedule.placements.pop_back();
    CHECK(error_of_plan(sim).find("places 2 tasks on 2 devices; expected 3") != std::string::npos);
  }
  SECTION("a device that does not exist") {
    sim.schedule.placements[0].device = DeviceId(2);
    CHECK(error_of_plan(sim).find("on device 2 of 2") != std::string::npos);
  }
  SECTION("a device that cannot run the task") {
    sim.costs.at(2, DeviceId(1)).time_ns = CostTable::kInfeasible;
    CHECK(error_of_plan(sim).find("which cannot run it") != std::string::npos);
  }
  SECTION("a task listed twice") {
    sim.schedule.order[0] = {TaskId(0), TaskId(0)};
    CHECK(error_of_plan(sim).find("listed twice or not placed there") != std::string::npos);
  }
  SECTION("a task listed on another device") {
    sim.schedule.order[1].emplace_back(1);
    CHECK(error_of_plan(sim).find("lists task 1") != std::string::npos);
  }
  SECTION("a task that no order lists") {
    sim.schedule.order[0].pop_back();
    CHECK(error_of_plan(sim).find("list 2 tasks; expected all 3") != std::string::npos);
  }
}

TEST_CASE("StaticPlan: the host dispatches by id where the orders agree", "[sim]") {
  const SimCase sim = three_tasks();
  CHECK(host_program(sim.graph, sim.schedule, keeps_order) == std::vector<uint32_t>{0, 1, 2});
}

TEST_CASE("StaticPlan: else the host follows dependencies and orders, earliest start first",
          "[sim]") {
  SimCase sim = three_tasks();
  sim.schedule.order[0] = {TaskId(1), TaskId(0)};
  sim.schedule.placements[1].planned_start_ns = 0;
  sim.schedule.placements[0].planned_start_ns = 10;
  sim.schedule.placements[2].planned_start_ns = 20;
  CHECK(host_program(sim.graph, sim.schedule, keeps_order) == std::vector<uint32_t>{1, 0, 2});
  // A device that takes what is ready first keeps to no order.
  const auto never = [](uint32_t /*device*/) { return false; };
  CHECK(host_program(sim.graph, sim.schedule, never) == std::vector<uint32_t>{0, 1, 2});
}

TEST_CASE("StaticPlan: tasks behind a circle are left out of the host's program", "[sim]") {
  SimCase sim(1);
  const TaskId a = sim.task(1);
  const TaskId b = sim.task(1);
  sim.edge(a, b, 1);
  sim.build();
  sim.schedule.order[0] = {TaskId(1), TaskId(0)};
  CHECK(host_program(sim.graph, sim.schedule, keeps_order).empty());
}
