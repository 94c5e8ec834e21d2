// PolicyDriver: asks the online policies of the requests in flight, and checks what they decide.
//
// After the events of an instant, each policy learns which tasks of its request became ready, the
// policy of the earliest request first: what it leaves idle is for later ones. The code that takes
// a decision applies it to the run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "schedulers/scheduler.h"
#include "sim/engine/policy_view.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/task_table.h"
#include "sim/engine/timeline.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

// Carries out a decision about a task of the slot's request, which has been checked.
class DecisionTaker {
 public:
  virtual ~DecisionTaker() = default;
  virtual Status decided(uint32_t slot, const Decision& decision) = 0;
};

class PolicyDriver {
 public:
  // `policy` decides for a single request. References must outlive the driver.
  PolicyDriver(const SchedulingProblem& problem, OnlineScheduler& policy, const RequestSlots& slots,
               const TaskTable& tasks, PolicyView& view, Timeline& timeline);
  // `make_policy` makes one for each request in flight.
  PolicyDriver(const SchedulingProblem& problem, const MakePolicy& make_policy,
               const RequestSlots& slots, const TaskTable& tasks, PolicyView& view,
               Timeline& timeline);

  // A new request: its policy restarts. Fails the timeline with the policy's error.
  void begin(uint32_t slot);
  // The task can be decided from now on.
  void now_ready(uint32_t instance);
  // From now on policies think for `decision_ns` about each task that became ready (SimOptions).
  void think_for(TimeNs decision_ns) { decision_ns_ = decision_ns; }
  // The thinking that was begun is over.
  void thought() { ask_ = true; }
  // Something happened that policies may have waited for.
  void ask_again() { ask_ = true; }
  bool wants_to_ask() const { return ask_; }
  // Asks all policies, or lets them begin to think. Fails the timeline with a policy's or the
  // taker's error.
  void ask(DecisionTaker& taker);
  // For a run in which nothing is left to happen: the error of a policy that holds ready tasks
  // back.
  Status stuck() const;

 private:
  // Whether the policies may decide now, about `thought_about_`. Begins to think about what became
  // ready since, unless they still think.
  bool has_thought();
  // Returns whether the policy's decisions could be carried out.
  bool ask_or_fail(uint32_t slot, DecisionTaker& taker);
  Status ask_one(uint32_t slot, DecisionTaker& taker);
  bool may_be_taken(uint32_t slot, const Decision& decision) const;
  // Why a decision may not be taken.
  Status refusal(uint32_t slot, const Decision& decision) const;

  const SchedulingProblem& problem_;
  uint32_t device_count_;
  const RequestSlots& slots_;
  const TaskTable& tasks_;
  PolicyView& view_;
  Timeline& timeline_;
  const MakePolicy* make_policy_ = nullptr;
  std::vector<OnlineScheduler*> policies_;  // by slot
  std::vector<std::unique_ptr<OnlineScheduler>> made_;
  std::vector<std::vector<TaskId>> newly_ready_;  // by slot
  TimeNs decision_ns_ = 0;
  TimeNs thinks_until_ns_ = 0;
  bool thinking_ = false;
  std::vector<std::vector<TaskId>> thought_about_;  // by slot; only where thinking takes time
  std::vector<Decision> decisions_;
  std::vector<uint32_t> asked_;  // slots, in the order of their requests
  bool ask_ = false;
};

}  // namespace dfsim::inline sim
