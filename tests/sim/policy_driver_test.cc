#include "sim/engine/policy_driver.h"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>

#include "schedulers/comm_model.h"
#include "tests/sim/part_case.h"

using namespace dfsim;

namespace {

// Answers with what the test says, and notes what it was told.
class ScriptedPolicy final : public OnlineScheduler {
 public:
  std::string_view name() const override { return "scripted"; }
  Status begin(const SchedulingProblem& /*problem*/) override {
    ++begun;
    return begin_status;
  }
  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    told.insert(told.end(), newly_ready.begin(), newly_ready.end());
    if (answer) {
      answer(view, decisions);
    }
  }

  int begun = 0;
  Status begin_status = ok_status();
  std::vector<TaskId> told;
  std::function<void(const OnlineView&, std::vector<Decision>&)> answer;
};

// Places decided tasks, and nothing else.
class Placing final : public DecisionTaker {
 public:
  explicit Placing(PartCase& sim) : sim_(sim) {}
  Status decided(uint32_t slot, const Decision& decision) override {
    const uint32_t instance = sim_.slots->instance(slot, decision.task.value());
    sim_.tasks->place(instance, decision.device.value(), 1);
    taken.push_back(instance);
    return ok_status();
  }
  std::vector<uint32_t> taken;

 private:
  PartCase& sim_;
};

// Two devices; tasks a and b are ready, c reads both. Device d1 cannot run b.
struct PolicyCase {
  PolicyCase() : sim(2) {
    const TaskId a = sim.task(10);
    const TaskId b = sim.task(10);
    const TaskId c = sim.task(10);
    sim.edge(a, c, 5);
    sim.edge(b, c, 5);
  }
  void begin() {
    sim.arrive();
    sim.costs.at(1, DeviceId(1)).time_ns = CostTable::kInfeasible;
    for (uint32_t t = 0; t < 3; ++t) {
      sim.tasks->reset(t, t);  // a policy decides the devices
    }
    comm = make_comm_model(sim.platform).value();
    problem = std::make_unique<SchedulingProblem>(
        SchedulingProblem{sim.graph, sim.costs, sim.platform, *comm, 0});
    queues = std::make_unique<DeviceQueues>(sim.platform, QueueOrder::kAuto, LineKind::kDecided,
                                            *sim.slots, sim.timeline);
    copies = std::make_unique<DataCopies>(sim.graph, DataCopies::Keeping::kUntilDropped, false);
    copies->grow(0);
    view = std::make_unique<PolicyView>(sim.graph, *sim.slots, *sim.tasks, *queues, *copies,
                                        nullptr, nullptr, sim.timeline);
    driver = std::make_unique<PolicyDriver>(*problem, policy, *sim.slots, *sim.tasks, *view,
                                            sim.timeline);
    driver->begin(0);
  }

  PartCase sim;
  ScriptedPolicy policy;
  std::unique_ptr<CommModel> comm;
  std::unique_ptr<SchedulingProblem> problem;
  std::unique_ptr<DeviceQueues> queues;
  std::unique_ptr<DataCopies> copies;
  std::unique_ptr<PolicyView> view;
  std::unique_ptr<PolicyDriver> driver;
};

// The error of a single decision.
std::string error_of_decision(const Decision& decision) {
  PolicyCase asked;
  asked.begin();
  asked.policy.answer = [&](const OnlineView&, std::vector<Decision>& decisions) {
    decisions.push_back(decision);
  };
  Placing taker(asked.sim);
  asked.driver->now_ready(0);
  asked.driver->ask(taker);
  return asked.sim.error();
}

}  // namespace

TEST_CASE("PolicyDriver: a policy is told ready tasks once, ascending", "[sim]") {
  PolicyCase asked;
  asked.begin();
  CHECK(asked.policy.begun == 1);
  CHECK_FALSE(asked.driver->wants_to_ask());
  asked.driver->now_ready(1);
  asked.driver->now_ready(0);
  CHECK(asked.driver->wants_to_ask());
  asked.policy.answer = [](const OnlineView& view, std::vector<Decision>& decisions) {
    CHECK(view.device_of(TaskId(0)) == DeviceId());
    decisions.push_back({TaskId(1), DeviceId(0)});
    decisions.push_back({TaskId(0), DeviceId(1)});
  };
  Placing taker(asked.sim);
  asked.driver->ask(taker);
  CHECK(asked.sim.timeline.ok());
  CHECK(asked.policy.told == std::vector<TaskId>{TaskId(0), TaskId(1)});
  CHECK(taker.taken == std::vector<uint32_t>{1, 0});
  CHECK_FALSE(asked.driver->wants_to_ask());
  asked.policy.answer = nullptr;
  asked.driver->ask_again();
  asked.driver->ask(taker);
  CHECK(asked.policy.told.size() == 2);
}

TEST_CASE("PolicyDriver: invalid decisions end the run", "[sim]") {
  CHECK(error_of_decision({TaskId(9), DeviceId(0)}).find("3 tasks and 2 devices") !=
        std::string::npos);
  CHECK(error_of_decision({TaskId(0), DeviceId(2)}).find("3 tasks and 2 devices") !=
        std::string::npos);
  CHECK(error_of_decision({TaskId(2), DeviceId(0)}).find("which is not ready") !=
        std::string::npos);
  CHECK(error_of_decision({TaskId(1), DeviceId(1)}).find("cannot run it") != std::string::npos);
  CHECK(error_of_decision({TaskId(0), DeviceId(1)}).empty());
}

TEST_CASE("PolicyDriver: a task cannot be decided twice", "[sim]") {
  PolicyCase asked;
  asked.begin();
  asked.policy.answer = [](const OnlineView&, std::vector<Decision>& decisions) {
    decisions.push_back({TaskId(0), DeviceId(0)});
    decisions.push_back({TaskId(0), DeviceId(1)});
  };
  Placing taker(asked.sim);
  asked.driver->now_ready(0);
  asked.driver->ask(taker);
  CHECK(asked.sim.error().find("policy 'scripted'") != std::string::npos);
  CHECK(asked.sim.error().find("decided already") != std::string::npos);
  CHECK(taker.taken.size() == 1);
}

TEST_CASE("PolicyDriver: a policy that cannot begin ends the run", "[sim]") {
  PolicyCase asked;
  asked.policy.begin_status = invalid_input("no");
  asked.begin();
  CHECK(asked.sim.error() == "no");
}

TEST_CASE("PolicyDriver: ready tasks that a policy holds back for good are an error", "[sim]") {
  PolicyCase asked;
  asked.begin();
  const Status status = asked.driver->stuck();
  CHECK(status.message().find("0 of 3 tasks were done") != std::string::npos);
}

TEST_CASE("PolicyDriver: the policy of the earliest request is asked first", "[sim]") {
  PolicyCase asked;
  asked.sim.requests.requests = 3;
  asked.sim.requests.in_flight = 2;
  asked.begin();
  std::vector<ScriptedPolicy*> made;
  const MakePolicy make = [&made] {
    auto policy = std::make_unique<ScriptedPolicy>();
    made.push_back(policy.get());
    return policy;
  };
  PolicyDriver driver(*asked.problem, make, *asked.sim.slots, *asked.sim.tasks, *asked.view,
                      asked.sim.timeline);
  RequestSlots& slots = *asked.sim.slots;
  driver.begin(0);
  driver.begin(slots.arrive(1));
  asked.copies->grow(1);
  asked.sim.tasks->grow(1);
  for (uint32_t i = 3; i < 6; ++i) {
    asked.sim.tasks->reset(i, i - 3);
  }
  slots.finish(0);
  slots.vacate(0);
  driver.begin(slots.arrive(2));  // in slot 0; request 1 is in slot 1
  REQUIRE(made.size() == 2);
  std::vector<int> order;
  made[0]->answer = [&](const OnlineView&, std::vector<Decision>&) { order.push_back(2); };
  made[1]->answer = [&](const OnlineView&, std::vector<Decision>&) { order.push_back(1); };
  Placing taker(asked.sim);
  driver.ask(taker);
  CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("PolicyView: data is where it was produced, and where a copy has arrived", "[sim]") {
  PolicyCase asked;
  asked.begin();
  asked.sim.tasks->place(0, 0, 10);
  CHECK_FALSE(asked.view->has_data(DataId(0), DeviceId(0)));  // not produced yet
  asked.sim.tasks->finish(0);
  CHECK(asked.view->has_data(DataId(0), DeviceId(0)));
  const uint32_t copy = asked.copies->add(0, 0, 1);
  CHECK_FALSE(asked.view->has_data(DataId(0), DeviceId(1)));  // under way
  asked.copies->arrive(copy);
  CHECK(asked.view->has_data(DataId(0), DeviceId(1)));
  CHECK(asked.view->free_bytes(DeviceId(0)) == INT64_MAX);  // memory is not simulated
}
