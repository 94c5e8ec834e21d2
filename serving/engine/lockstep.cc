// Steps of data-parallel ranks. All plan before the first is costed, because the cost of the
// experts depends on the tokens of every rank.
#include "serving/engine/lockstep.h"

#include <algorithm>

namespace dfsim::inline serving {

TimeNs LockstepGroup::next_action() const {
  if (in_step_) {
    return end_ns_;
  }
  TimeNs next_ns = kNever;
  for (const Replica* rank : ranks_) {
    next_ns = std::min(next_ns, rank->next_action());
  }
  return next_ns;
}

Status LockstepGroup::advance(TimeNs horizon) {
  if (ranks_.size() == 1) {
    return ranks_.front()->advance(horizon);
  }
  return in_step_ ? end(horizon) : begin();
}

Status LockstepGroup::begin() {
  const TimeNs now = next_action();
  std::vector<Replica*> planned;
  int64_t all_tokens = 0;
  int64_t most_tokens = 0;
  bool prompts = false;
  bool expects_requests = false;
  for (Replica* rank : ranks_) {
    DFSIM_ASSIGN_OR_RETURN(const bool has_plan, rank->plan_step(now));
    expects_requests = expects_requests || rank->expects_requests();
    if (has_plan) {
      planned.push_back(rank);
      all_tokens += rank->planned_tokens();
      most_tokens = std::max(most_tokens, rank->planned_tokens());
      prompts = prompts || rank->plans_prompts();
    }
  }
  if (planned.empty()) {
    const auto stuck =
        std::find_if(ranks_.begin(), ranks_.end(), [](const Replica* r) { return r->has_work(); });
    return expects_requests || stuck == ranks_.end() ? ok_status() : (*stuck)->idle_error();
  }
  if (!prompts) {
    all_tokens = most_tokens * static_cast<int64_t>(ranks_.size());
  }
  TimeNs longest_ns = 0;
  TimeNs interval_ns = 0;
  for (Replica* rank : planned) {
    DFSIM_RETURN_IF_ERROR(rank->cost_step(all_tokens));
    longest_ns = std::max(longest_ns, rank->step_ns());
    interval_ns = std::max(interval_ns, rank->interval_ns());
  }
  start_ns_ = now;
  end_ns_ = now + longest_ns;
  for (Replica* rank : planned) {
    rank->start_step(now, end_ns_);
  }
  if (pipeline_ != nullptr) {
    pipeline_->free_ns = now + interval_ns;
  }
  in_step_ = true;
  return ok_status();
}

Status LockstepGroup::end(TimeNs horizon) {
  in_step_ = false;
  for (Replica* rank : ranks_) {
    if (rank->in_step()) {
      DFSIM_RETURN_IF_ERROR(rank->advance(horizon));
    } else {
      rank->wait_until(start_ns_, end_ns_);
    }
  }
  return ok_status();
}

}  // namespace dfsim::inline serving
