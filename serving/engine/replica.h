// One replica of a model: an engine that computes step after step what its batching policy plans,
// behind a front end. Server (server.h) drives one or several on one clock.
//
// A step begins, and ends later: between the two, requests may arrive. Steps that repeat the one
// before (decodes only; no request arrives, finishes or lacks a block) are run in one go; the
// results are those of running them one by one, to the nanosecond.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "base/status.h"
#include "serving/engine/frontend.h"
#include "serving/engine/step_table.h"
#include "serving/policies/batch_policy.h"

namespace dfsim::inline serving {

inline constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();

// `steps` steps in a row with the same sequences, from start_ns to end_ns.
struct StepRecord {
  int replica = 0;
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  int64_t steps = 1;
  int64_t decodes = 0;         // sequences that decode
  int64_t prefills = 0;        // sequences that compute prompt
  int64_t prefill_tokens = 0;  // per step
  int64_t held_blocks = 0;     // at the end
  int64_t waiting = 0;
  std::array<double, kStepPartCount> split_ns{};  // over all steps
  double log_sigma = 0;
};

// Receives what happens, in order of time within a replica.
class ReplicaListener {
 public:
  virtual ~ReplicaListener() = default;
  virtual void step(const StepRecord& record) { (void)record; }
  // `count` clients waited `gap_ns` for their next token.
  virtual void token_gap(TimeNs gap_ns, int64_t count) { (void)gap_ns, (void)count; }
  // The client has the last token (at last_token_ns).
  virtual void finished(const Sequence& sequence) { (void)sequence; }
  // A replica that only prefills is done with a sequence, at `now`.
  virtual void prefilled(Sequence&& sequence, TimeNs now) { (void)sequence, (void)now; }
};

// When the first stage of a pipeline is free for another batch. Engines of one pipeline share it.
struct PipelineEntry {
  TimeNs free_ns = 0;
};

enum class ReplicaRole : uint8_t { kAggregated, kPrefill, kDecode };

struct ReplicaOptions {
  BatchPolicyInfo policy;
  BatchLimits limits;  // complete (complete_limits)
  int64_t cache_blocks = 1;
  int64_t block_tokens = 16;
  bool prefix_caching = false;
  FrontendModel frontend;
  ReplicaRole role = ReplicaRole::kAggregated;
  bool schedule_ahead = false;
  bool fast_forward = true;  // off: every step alone
  // Engines of one number share a pipeline of GPUs: each has one batch in flight. -1: an engine
  // that has its GPUs for itself.
  int pipeline = -1;
  // Engines of one number are the data-parallel ranks of one replica, side by side in the list:
  // they share a front end and run in lockstep (lockstep.h). -1: an engine on its own.
  int lockstep = -1;
};

class Replica {
 public:
  // `costs`, `pipeline` (null without one), `frontend` and `listener` outlive the replica.
  Replica(int index, const ReplicaOptions& options, StepTable* costs, PipelineEntry* pipeline,
          Frontend* frontend, ReplicaListener* listener);

  // A request sent at `now`; calls come in order of time, no earlier than the last advance().
  void submit(Sequence sequence, TimeNs now);
  // When advance() has something to do; kNever while nothing is here.
  TimeNs next_action() const;
  // Begins the next step or ends the current one. Nothing else happens before `horizon`, so steps
  // that repeat may be run up to there. Errors: the cost model's, and a policy that breaks a rule.
  Status advance(TimeNs horizon);

  // The parts of advance() for ranks in lockstep. plan_step() plans at `now`; false: nothing to
  // do. cost_step() costs the plan next to `all_tokens` of all ranks; start_step() begins it.
  StatusOr<bool> plan_step(TimeNs now);
  Status cost_step(int64_t all_tokens);
  TimeNs step_ns() const { return cost_.time_ns(context_total_); }
  TimeNs interval_ns() const { return cost_.interval_ns(context_total_); }
  void start_step(TimeNs now, TimeNs end_ns);
  // A rank without a step of its own waits for the others' to end.
  void wait_until(TimeNs start_ns, TimeNs end_ns);
  int64_t planned_tokens() const { return plan_.tokens; }
  bool plans_prompts() const { return !prefill_.empty(); }
  bool in_step() const { return in_step_; }
  // Why a plan is empty although sequences are here and none will come.
  Status idle_error() const;
  bool expects_requests() const { return !incoming_.empty(); }
  bool has_work() const { return !state_.running().empty() || !state_.waiting().empty(); }

  int64_t in_flight() const { return in_flight_; }
  int64_t waiting() const {
    return static_cast<int64_t>(incoming_.size() + state_.waiting().size());
  }
  const BatchState& state() const { return state_; }

 private:
  Status begin();
  Status end(TimeNs horizon);
  void admit_incoming(TimeNs cutoff);
  Status check_plan();
  void count_plan();
  // Books the tokens of one slice; true when its request is done.
  bool advance_sequence(SequenceId id, int64_t tokens, TimeNs delivered_ns);
  Status repeat(TimeNs horizon);
  int64_t repeatable_steps() const;
  StepRecord record(TimeNs start_ns) const;

  int index_;
  ReplicaOptions options_;
  std::unique_ptr<BatchPolicy> policy_;
  BatchState state_;
  StepTable* costs_;
  PipelineEntry* pipeline_;
  Frontend* frontend_;
  ReplicaListener* listener_;
  std::deque<Sequence> incoming_;  // through the front end, not yet seen by the engine

  StepPlan plan_;
  std::vector<SequenceSlice> prefill_;
  CostSegment cost_;
  int64_t decodes_ = 0;
  int64_t context_total_ = 0;
  bool in_step_ = false;
  bool starved_ = false;  // sequences are here, but the policy plans nothing
  TimeNs clock_ns_ = 0;   // end of the last step
  TimeNs start_ns_ = 0;   // of the current or last step
  TimeNs end_ns_ = 0;     // of the current step
  int64_t in_flight_ = 0;
  int64_t plan_number_ = 0;
  std::vector<int64_t> planned_in_;  // by sequence: the last plan it was part of
};

}  // namespace dfsim::inline serving
