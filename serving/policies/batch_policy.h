// Batching policies: which sequences an engine step computes, and how much of each. The counterpart
// of schedulers/scheduler.h for language-model servers.
//
// A policy sees BatchState (waiting and running sequences, the cache) and changes it through four
// verbs: admit, grow, preempt, schedule. The engine checks each plan (engine/replica.h): a policy
// that schedules a sequence without cache for it, over the budget or twice fails the simulation.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "serving/cache/block_cache.h"
#include "serving/workload/request.h"

namespace dfsim::inline serving {

using SequenceId = uint32_t;  // dense, reused after a request is done

// A request inside a replica.
struct Sequence {
  RequestSpec spec;
  CacheShare share;
  int64_t computed = 0;     // tokens whose keys and values are in the cache
  int64_t generated = 0;    // output tokens so far
  int64_t target = 0;       // tokens to compute before the next output token can be sampled
  int64_t transferred = 0;  // tokens whose cache another replica computed and sent
  int64_t preemptions = 0;
  int64_t cached_prefix = 0;   // prompt tokens that the prefix cache had at the first admission
  TimeNs ready_ns = 0;         // when the engine could first see it
  TimeNs admitted_ns = -1;     // first admission
  TimeNs first_token_ns = -1;  // as the client sees it
  TimeNs last_token_ns = -1;

  // Prefill is whatever precedes the next output token, except for the one token of a decode.
  bool decoding() const { return generated > 0 && target - computed == 1; }
  int64_t missing() const { return target - computed; }
  int64_t final_tokens() const { return spec.prompt_tokens + spec.output_tokens; }
};

// Limits of an engine, as its command line sets them. 0: the framework's default.
struct BatchLimits {
  int64_t max_sequences = 0;       // max_num_seqs, max_batch_size, max_running_requests
  int64_t max_tokens = 0;          // max_num_batched_tokens, max_num_tokens, chunked_prefill_size
  int64_t max_prefill_tokens = 0;  // SGLang: prompt tokens of one prefill batch
  bool chunked_prefill = true;
  bool mixed_chunks = false;  // SGLang: decodes ride along with prefill chunks
};

struct PlannedSlice {
  SequenceId sequence = 0;
  int64_t tokens = 0;
};

// One step. `repeatable`: as long as no sequence arrives, finishes or runs out of blocks, the
// policy would plan the same decodes again; the engine then runs that many steps at once.
struct StepPlan {
  std::vector<PlannedSlice> slices;
  int64_t tokens = 0;
  bool repeatable = false;
};

// The state of one replica, as policies see it. O(1) per call but preempt(), O(running).
class BatchState {
 public:
  BatchState(const BatchLimits& limits, BlockCache cache)
      : limits_(limits), cache_(std::move(cache)) {}

  const BatchLimits& limits() const { return limits_; }
  BlockCache& cache() { return cache_; }
  const BlockCache& cache() const { return cache_; }
  // First come, first served; preempted sequences come back to the front.
  const std::deque<SequenceId>& waiting() const { return waiting_; }
  // In order of admission.
  const std::vector<SequenceId>& running() const { return running_; }
  Sequence& sequence(SequenceId id) { return sequences_[id]; }
  const Sequence& sequence(SequenceId id) const { return sequences_[id]; }

  // Moves the first waiting sequence to the end of the running ones and takes its cached prefix.
  SequenceId admit(TimeNs now);
  // Undoes the last admit() when the cache turned out too full.
  void cancel_admission();
  // Cache for `tokens` more tokens of a running sequence; false when there is none.
  bool grow(SequenceId id, int64_t tokens);
  // Cache for all that a running sequence will ever hold.
  bool reserve_all(SequenceId id);
  // Takes all cache from a running sequence and puts it in front of the waiting ones; it will
  // compute its prompt and what it generated again.
  void preempt(SequenceId id);

  // For the engine.
  SequenceId add(Sequence sequence);
  void finish(SequenceId id);
  int64_t preemptions() const { return preemptions_; }
  size_t slots() const { return sequences_.size(); }

 private:
  BatchLimits limits_;
  BlockCache cache_;
  std::deque<SequenceId> waiting_;
  std::vector<SequenceId> running_;
  std::vector<Sequence> sequences_;
  std::vector<SequenceId> free_slots_;
  int64_t preemptions_ = 0;
};

class BatchPolicy {
 public:
  virtual ~BatchPolicy() = default;
  // Appends to `plan` (empty on entry) what the next step computes. An empty plan: nothing can run
  // until a request arrives. Deterministic.
  virtual void plan(BatchState& state, TimeNs now, StepPlan* plan) = 0;
  // `steps` repetitions of a repeatable plan were run besides the planned one.
  virtual void repeated(int64_t steps) { (void)steps; }
};

struct BatchPolicyInfo {
  std::string name;
  std::string summary;   // one line
  std::string citation;  // what it was written after
  BatchLimits defaults;
  int64_t block_tokens = 16;
  bool schedule_ahead = false;  // plans a step while the one before is still running
  bool keeps_order = true;      // first tokens come in order of arrival (absent preemption)
  bool never_preempts = false;  // an admitted request keeps its cache until it is done
  std::unique_ptr<BatchPolicy> (*make)(const BatchLimits&) = nullptr;
};

// Built-in policies, in alphabetical order.
const std::vector<BatchPolicyInfo>& builtin_batch_policies();

// Policies to choose from: the built-in ones and those that a program adds.
class BatchPolicyRegistry {
 public:
  BatchPolicyRegistry() : policies_(builtin_batch_policies()) {}
  const std::vector<BatchPolicyInfo>& policies() const { return policies_; }
  // Error: kInvalidInput with the valid names and the nearest.
  StatusOr<BatchPolicyInfo> find(const std::string& name) const;
  // Error: kInvalidInput when the name is taken, empty, or nothing makes it.
  Status add(BatchPolicyInfo policy);

 private:
  std::vector<BatchPolicyInfo> policies_;
};

// `limits` with the policy's defaults for those that are 0. Errors (kInvalidInput): negative ones.
StatusOr<BatchLimits> complete_limits(const BatchPolicyInfo& policy, const BatchLimits& limits);

}  // namespace dfsim::inline serving
