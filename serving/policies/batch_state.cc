// The changes that policies may make to the sequences of a replica. Slots of sequences are reused,
// so the memory of a simulation is that of the requests in flight.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "serving/policies/batch_policy.h"

namespace dfsim::inline serving {

SequenceId BatchState::add(Sequence sequence) {
  SequenceId id = 0;
  if (free_slots_.empty()) {
    id = static_cast<SequenceId>(sequences_.size());
    sequences_.push_back(std::move(sequence));
  } else {
    id = free_slots_.back();
    free_slots_.pop_back();
    sequences_[id] = std::move(sequence);
  }
  waiting_.push_back(id);
  return id;
}

SequenceId BatchState::admit(TimeNs now) {
  DFSIM_CHECK(!waiting_.empty());
  const SequenceId id = waiting_.front();
  waiting_.pop_front();
  running_.push_back(id);
  Sequence& sequence = sequences_[id];
  // A recomputed sequence may find its own prompt still in the cache.
  sequence.computed = cache_.acquire_prefix(sequence.spec, &sequence.share);
  if (sequence.preemptions == 0) {
    sequence.computed = std::max(sequence.computed, sequence.transferred);
  }
  if (sequence.admitted_ns < 0) {
    sequence.admitted_ns = now;
    sequence.cached_prefix = sequence.computed;
  }
  return id;
}

void BatchState::cancel_admission() {
  const SequenceId id = running_.back();
  running_.pop_back();
  waiting_.push_front(id);
  Sequence& sequence = sequences_[id];
  cache_.release(&sequence.share);
  sequence.computed = 0;
  if (sequence.preemptions == 0) {
    sequence.admitted_ns = -1;
  }
}

bool BatchState::grow(SequenceId id, int64_t tokens) {
  Sequence& sequence = sequences_[id];
  return cache_.grow(&sequence.share, sequence.computed + tokens);
}

bool BatchState::reserve_all(SequenceId id) {
  Sequence& sequence = sequences_[id];
  return cache_.grow(&sequence.share, sequence.final_tokens());
}

void BatchState::preempt(SequenceId id) {
  running_.erase(std::find(running_.begin(), running_.end(), id));
  waiting_.push_front(id);
  Sequence& sequence = sequences_[id];
  cache_.release(&sequence.share);
  sequence.computed = 0;
  ++sequence.preemptions;
  ++preemptions_;
}

void BatchState::finish(SequenceId id) {
  running_.erase(std::find(running_.begin(), running_.end(), id));
  cache_.release(&sequences_[id].share);
  free_slots_.push_back(id);
}

}  // namespace dfsim::inline serving
