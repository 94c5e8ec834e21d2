// The engine's steps. begin() lets the policy plan and asks for the cost; end() books the tokens,
// and repeat() runs the same decodes again as long as nothing can change: until the first sequence
// but one step from its end, until blocks run out, until a request may be seen.
#include "serving/engine/replica.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace dfsim::inline serving {

Replica::Replica(int index, const ReplicaOptions& options, StepTable* costs,
                 PipelineEntry* pipeline, Frontend* frontend, ReplicaListener* listener)
    : index_(index),
      options_(options),
      policy_(options.policy.make(options.limits)),
      state_(options.limits,
             BlockCache(options.cache_blocks, options.block_tokens, options.prefix_caching)),
      costs_(costs),
      pipeline_(pipeline),
      frontend_(frontend),
      listener_(listener) {}

void Replica::submit(Sequence sequence, TimeNs now) {
  sequence.ready_ns = options_.role == ReplicaRole::kDecode
                          ? now  // comes from the prefill server, not through the front end
                          : frontend_->take_in(now, sequence.spec.prompt_tokens);
  if (sequence.target == 0) {
    sequence.target = sequence.spec.prompt_tokens;
  }
  incoming_.push_back(std::move(sequence));
  ++in_flight_;
}

TimeNs Replica::next_action() const {
  if (in_step_) {
    return end_ns_;
  }
  const TimeNs free_ns = pipeline_ == nullptr ? clock_ns_ : std::max(clock_ns_, pipeline_->free_ns);
  if (has_work() && !starved_) {
    return free_ns;
  }
  return incoming_.empty() ? kNever : std::max(free_ns, incoming_.front().ready_ns);
}

Status Replica::advance(TimeNs horizon) { return in_step_ ? end(horizon) : begin(); }

void Replica::admit_incoming(TimeNs cutoff) {
  while (!incoming_.empty() && incoming_.front().ready_ns <= cutoff) {
    state_.add(std::move(incoming_.front()));
    incoming_.pop_front();
    starved_ = false;
  }
}

Status Replica::begin() {
  const TimeNs now = next_action();
  DFSIM_ASSIGN_OR_RETURN(const bool planned, plan_step(now));
  if (!planned) {
    return expects_requests() ? ok_status() : idle_error();
  }
  DFSIM_RETURN_IF_ERROR(cost_step(0));
  start_step(now, now + step_ns());
  if (pipeline_ != nullptr) {
    pipeline_->free_ns = now + interval_ns();
  }
  return ok_status();
}

StatusOr<bool> Replica::plan_step(TimeNs now) {
  // An engine that plans ahead made this plan when the step before began, unless it was idle.
  const bool ahead = options_.schedule_ahead && now == clock_ns_ && !state_.running().empty();
  admit_incoming(ahead ? start_ns_ : now);
  plan_ = {std::move(plan_.slices), 0, false};
  plan_.slices.clear();
  policy_->plan(state_, now, &plan_);
  if (plan_.slices.empty() && ahead) {  // a step planned ahead was empty: the engine looks again
    admit_incoming(now);
    policy_->plan(state_, now, &plan_);
  }
  if (plan_.slices.empty()) {
    starved_ = true;
    return false;
  }
  DFSIM_RETURN_IF_ERROR(check_plan());
  count_plan();
  return true;
}

Status Replica::idle_error() const {
  return failed("batching policy '" + options_.policy.name + "': it plans nothing although " +
                std::to_string(state_.waiting().size()) + " requests wait and " +
                std::to_string(state_.running().size()) + " run, expected a step; the cache of " +
                std::to_string(state_.cache().total_blocks()) + " blocks may be too small");
}

void Replica::start_step(TimeNs now, TimeNs end_ns) {
  start_ns_ = now;
  end_ns_ = end_ns;
  in_step_ = true;
}

void Replica::wait_until(TimeNs start_ns, TimeNs end_ns) {
  start_ns_ = start_ns;
  clock_ns_ = end_ns;
}

Status Replica::check_plan() {
  int64_t tokens = 0;
  bool once = true;
  ++plan_number_;
  planned_in_.resize(state_.slots());
  for (const PlannedSlice& slice : plan_.slices) {
    once = once && std::exchange(planned_in_[slice.sequence], plan_number_) != plan_number_;
    const Sequence& sequence = state_.sequence(slice.sequence);
    const int64_t needed = sequence.computed + slice.tokens;
    if (slice.tokens < 1 || slice.tokens > sequence.missing() ||
        state_.cache().missing_blocks(sequence.share, needed) > 0) {
      return failed("batching policy '" + options_.policy.name + "': it schedules " +
                    std::to_string(slice.tokens) + " tokens of request " +
                    std::to_string(sequence.spec.id) + ", expected 1 to " +
                    std::to_string(sequence.missing()) + " with cache for all of them");
    }
    tokens += slice.tokens;
  }
  if (!once || static_cast<int64_t>(state_.running().size()) > options_.limits.max_sequences) {
    return failed("batching policy '" + options_.policy.name + "': it runs " +
                  std::to_string(state_.running().size()) + " sequences, expected at most " +
                  std::to_string(options_.limits.max_sequences) + ", each once in a step");
  }
  // Decodes of sequences that already run may not wait for the budget in all policies, and a prompt
  // longer than the budget must run somehow: the limit holds for prompts beyond the first.
  if (tokens > options_.limits.max_tokens + static_cast<int64_t>(plan_.slices.size()) &&
      plan_.slices.size() > 1 && plan_.slices[0].tokens <= options_.limits.max_tokens) {
    return failed("batching policy '" + options_.policy.name + "': a step of " +
                  std::to_string(tokens) + " tokens, expected at most " +
                  std::to_string(options_.limits.max_tokens));
  }
  return ok_status();
}

void Replica::count_plan() {
  prefill_.clear();
  decodes_ = 0;
  context_total_ = 0;
  for (const PlannedSlice& slice : plan_.slices) {
    const Sequence& sequence = state_.sequence(slice.sequence);
    plan_.tokens += slice.tokens;
    if (sequence.decoding()) {
      ++decodes_;
      context_total_ += sequence.computed;
    } else {
      prefill_.push_back({slice.tokens, sequence.computed});
    }
  }
}

Status Replica::cost_step(int64_t all_tokens) {
  DFSIM_ASSIGN_OR_RETURN(const CostSegment* cost,
                         costs_->segment(prefill_, decodes_, context_total_, all_tokens));
  cost_ = *cost;
  return ok_status();
}

StepRecord Replica::record(TimeNs start_ns) const {
  StepRecord record;
  record.replica = index_;
  record.start_ns = start_ns;
  record.end_ns = clock_ns_;
  record.decodes = decodes_;
  record.prefills = static_cast<int64_t>(prefill_.size());
  record.prefill_tokens = plan_.tokens - decodes_;
  record.held_blocks = state_.cache().held_blocks();
  record.waiting = waiting();
  record.log_sigma = cost_.log_sigma();
  return record;
}

Status Replica::end(TimeNs horizon) {
  in_step_ = false;
  clock_ns_ = end_ns_;
  StepRecord step = record(start_ns_);
  cost_.add_split(cost_.position(context_total_), 1, &step.split_ns);
  // Ranks in lockstep wait for the slowest in the exchange of the experts' rows.
  step.split_ns[static_cast<size_t>(StepPart::kComm)] +=
      static_cast<double>(end_ns_ - start_ns_ - step_ns());
  int64_t tokens_out = 0;
  for (const PlannedSlice& slice : plan_.slices) {
    tokens_out += state_.sequence(slice.sequence).missing() == slice.tokens ? 1 : 0;
  }
  const TimeNs delivered_ns = frontend_->send_out(clock_ns_, tokens_out);
  bool done = false;
  for (const PlannedSlice& slice : plan_.slices) {
    done = advance_sequence(slice.sequence, slice.tokens, delivered_ns) || done;
  }
  step.held_blocks = state_.cache().held_blocks();
  listener_->step(step);
  const bool same = plan_.repeatable && !done && decodes_ > 0 && prefill_.empty();
  // The other batches of a pipeline, or the other ranks, decide when it may begin again.
  const bool alone = pipeline_ == nullptr && options_.lockstep < 0;
  return same && options_.fast_forward && alone ? repeat(horizon) : ok_status();
}

bool Replica::advance_sequence(SequenceId id, int64_t tokens, TimeNs delivered_ns) {
  Sequence& sequence = state_.sequence(id);
  sequence.computed += tokens;
  state_.cache().publish(sequence.spec, sequence.computed, &sequence.share);
  if (sequence.missing() > 0) {
    return false;
  }
  ++sequence.generated;
  ++sequence.target;
  if (sequence.first_token_ns < 0) {
    sequence.first_token_ns = delivered_ns;
  } else {
    listener_->token_gap(delivered_ns - sequence.last_token_ns, 1);
  }
  sequence.last_token_ns = delivered_ns;
  const bool done = sequence.generated == sequence.spec.output_tokens;
  if (!done && options_.role != ReplicaRole::kPrefill) {
    return false;
  }
  --in_flight_;
  if (done) {
    listener_->finished(sequence);
  } else {
    Sequence leaving = sequence;
    leaving.share = CacheShare();
    listener_->prefilled(std::move(leaving), clock_ns_);
  }
  state_.finish(id);
  return true;
}

// Steps that can follow without anybody finishing in them or lacking a block.
int64_t Replica::repeatable_steps() const {
  int64_t steps = std::numeric_limits<int64_t>::max();
  for (const PlannedSlice& slice : plan_.slices) {
    const Sequence& sequence = state_.sequence(slice.sequence);
    steps = std::min(steps, sequence.spec.output_tokens - sequence.generated - 1);
  }
  const auto fits = [&](int64_t count) {
    int64_t blocks = 0;
    for (const PlannedSlice& slice : plan_.slices) {
      const Sequence& sequence = state_.sequence(slice.sequence);
      blocks += state_.cache().missing_blocks(sequence.share, sequence.computed + count);
    }
    return blocks <= state_.cache().available_blocks();
  };
  if (steps <= 0 || fits(steps)) {
    return steps;
  }
  int64_t good = 0;
  for (int64_t bad = steps; bad - good > 1;) {
    const int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

Status Replica::repeat(TimeNs horizon) {
  if (!incoming_.empty()) {
    horizon = std::min(horizon, incoming_.front().ready_ns);
  }
  const int64_t limit = repeatable_steps();
  const TimeNs first_ns = clock_ns_;
  std::array<double, kStepPartCount> split{};
  TimeNs last_delivered_ns = state_.sequence(plan_.slices[0].sequence).last_token_ns;
  int64_t done = 0;
  int64_t segment_steps = 0;
  double positions = 0;  // sum over the steps of the current segment
  while (done < limit) {
    const int64_t context = context_total_ + decodes_;  // every sequence has grown by one
    if (!cost_.covers(context)) {
      cost_.add_split(segment_steps > 0 ? positions / static_cast<double>(segment_steps) : 0,
                      static_cast<double>(segment_steps), &split);
      segment_steps = 0;
      positions = 0;
      DFSIM_ASSIGN_OR_RETURN(const CostSegment* cost, costs_->segment({}, decodes_, context));
      cost_ = *cost;
    }
    const TimeNs end_ns = clock_ns_ + cost_.time_ns(context);
    if (end_ns > horizon) {
      break;
    }
    start_ns_ = clock_ns_;
    clock_ns_ = end_ns;
    context_total_ = context;
    positions += cost_.position(context);
    ++segment_steps;
    ++done;
    const TimeNs delivered_ns = frontend_->send_out(clock_ns_, decodes_);
    listener_->token_gap(delivered_ns - last_delivered_ns, decodes_);
    last_delivered_ns = delivered_ns;
  }
  if (done == 0) {
    return ok_status();
  }
  if (segment_steps > 0) {
    cost_.add_split(positions / static_cast<double>(segment_steps),
                    static_cast<double>(segment_steps), &split);
  }
  for (const PlannedSlice& slice : plan_.slices) {
    Sequence& sequence = state_.sequence(slice.sequence);
    DFSIM_CHECK(state_.grow(slice.sequence, done));
    sequence.computed += done;
    sequence.generated += done;
    sequence.target += done;
    sequence.last_token_ns = last_delivered_ns;
  }
  policy_->repeated(done);
  StepRecord step = record(first_ns);
  step.steps = done;
  step.split_ns = split;
  listener_->step(step);
  return ok_status();
}

}  // namespace dfsim::inline serving
