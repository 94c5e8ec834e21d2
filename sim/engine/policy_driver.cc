// One round of questions, and the checks of the answers.
#include "sim/engine/policy_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace dfsim::inline sim {

PolicyDriver::PolicyDriver(const SchedulingProblem& problem, OnlineScheduler& policy,
                           const RequestSlots& slots, const TaskTable& tasks, PolicyView& view,
                           Timeline& timeline)
    : problem_(problem),
      device_count_(static_cast<uint32_t>(problem.platform.devices.size())),
      slots_(slots),
      tasks_(tasks),
      view_(view),
      timeline_(timeline),
      policies_{&policy} {}

PolicyDriver::PolicyDriver(const SchedulingProblem& problem, const MakePolicy& make_policy,
                           const RequestSlots& slots, const TaskTable& tasks, PolicyView& view,
                           Timeline& timeline)
    : problem_(problem),
      device_count_(static_cast<uint32_t>(problem.platform.devices.size())),
      slots_(slots),
      tasks_(tasks),
      view_(view),
      timeline_(timeline),
      make_policy_(&make_policy) {}

void PolicyDriver::begin(uint32_t slot) {
  if (newly_ready_.size() <= slot) {
    newly_ready_.resize(slot + 1);
  }
  newly_ready_[slot].clear();
  if (slot < thought_about_.size()) {
    thought_about_[slot].clear();
  }
  if (policies_.size() <= slot) {
    made_.push_back((*make_policy_)());
    policies_.push_back(made_.back().get());
  }
  if (Status status = policies_[slot]->begin(problem_); !status.ok()) {
    timeline_.fail(std::move(status));
  }
}

void PolicyDriver::now_ready(uint32_t instance) {
  newly_ready_[slots_.slot_of(instance)].emplace_back(slots_.task_of(instance));
  ask_ = true;
}

bool PolicyDriver::has_thought() {
  if (thinking_ && timeline_.now_ns() < thinks_until_ns_) {
    return false;
  }
  if (std::exchange(thinking_, false)) {
    ask_ = true;  // then about those that became ready in the meantime
    return true;
  }
  size_t tasks = 0;
  thought_about_.resize(newly_ready_.size());
  for (size_t slot = 0; slot < newly_ready_.size(); ++slot) {
    tasks += newly_ready_[slot].size();
    thought_about_[slot].swap(newly_ready_[slot]);
    newly_ready_[slot].clear();
  }
  if (tasks == 0) {
    return true;  // about tasks that were held back
  }
  thinking_ = true;
  thinks_until_ns_ = timeline_.now_ns() + decision_ns_ * static_cast<TimeNs>(tasks);
  timeline_.push(thinks_until_ns_, kPolicyThought, 0);
  return false;
}

void PolicyDriver::ask(DecisionTaker& taker) {
  ask_ = false;
  if (decision_ns_ > 0 && !has_thought()) {
    return;
  }
  if (slots_.size() == 1) {
    // One request at a time needs no order, and most runs ask after every finish.
    if (slots_.request_of(0) != kNoIndex) {
      ask_or_fail(0, taker);
    }
    return;
  }
  asked_.clear();
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_.request_of(slot) != kNoIndex) {
      asked_.push_back(slot);
    }
  }
  std::ranges::sort(asked_, {}, [this](uint32_t slot) { return slots_.request_of(slot); });
  for (const uint32_t slot : asked_) {
    if (!ask_or_fail(slot, taker)) {
      return;
    }
  }
}

inline bool PolicyDriver::ask_or_fail(uint32_t slot, DecisionTaker& taker) {
  Status status = ask_one(slot, taker);
  if (!status.ok()) {
    timeline_.fail(status.with_place(fmt::format("policy '{}'", policies_[slot]->name())));
    return false;
  }
  return true;
}

inline bool PolicyDriver::may_be_taken(uint32_t slot, const Decision& decision) const {
  if (decision.task.value() >= slots_.task_count() || decision.device.value() >= device_count_) {
    return false;
  }
  const TaskState& state = tasks_.state(slots_.instance(slot, decision.task.value()));
  return state.device == kNoIndex && state.preds_left == 0 &&
         problem_.costs.feasible(problem_.graph.cost_row(decision.task), decision.device);
}

Status PolicyDriver::refusal(uint32_t slot, const Decision& decision) const {
  const ExecGraph& graph = problem_.graph;
  if (decision.task.value() >= slots_.task_count() || decision.device.value() >= device_count_) {
    return failed(fmt::format(
        "decided task {} for device {}, but there are {} tasks and {} devices",
        decision.task.value(), decision.device.value(), slots_.task_count(), device_count_));
  }
  const TaskState& state = tasks_.state(slots_.instance(slot, decision.task.value()));
  if (state.device != kNoIndex || state.preds_left > 0) {
    return failed(fmt::format("decided task '{}', which is {}",
                              printable(graph.name(decision.task)),
                              state.device != kNoIndex ? "decided already" : "not ready"));
  }
  return failed(fmt::format("decided task '{}' for '{}', which cannot run it",
                            printable(graph.name(decision.task)),
                            printable(problem_.platform.device(decision.device).name)));
}

Status PolicyDriver::ask_one(uint32_t slot, DecisionTaker& taker) {
  view_.look_at(slot);
  std::vector<TaskId>& newly_ready = decision_ns_ > 0 ? thought_about_[slot] : newly_ready_[slot];
  if (newly_ready.size() > 1) {
    std::ranges::sort(newly_ready);
  }
  decisions_.clear();
  policies_[slot]->decide(view_, newly_ready, decisions_);
  newly_ready.clear();
  for (const Decision& decision : decisions_) {
    if (!may_be_taken(slot, decision)) {
      return refusal(slot, decision);
    }
    DFSIM_RETURN_IF_ERROR(taker.decided(slot, decision));
  }
  return ok_status();
}

Status PolicyDriver::stuck() const {
  uint32_t slot = 0;
  while (slots_.tasks_left(slot) == 0) {
    ++slot;
  }
  return failed(fmt::format(
      "policy '{}' left ready tasks undecided when nothing was running: {} "
      "of {} tasks were done",
      policies_[0]->name(), slots_.task_count() - slots_.tasks_left(slot), slots_.task_count()));
}

}  // namespace dfsim::inline sim
