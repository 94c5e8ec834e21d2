#include "schedulers/policies/list/earliest_pair.h"

#include "base/cancellation.h"

namespace dfsim::inline schedulers {

void EarliestPair::advance(size_t device, TimeNs available) {
  Heaps& heaps = heaps_[device];
  while (!heaps.arrivals.empty() &&
         (gone(heaps.arrivals.top(), device) || heaps.arrivals.top().ready <= available)) {
    const Entry entry = heaps.arrivals.top();
    heaps.arrivals.pop();
    if (!gone(entry, device)) {
      heaps.here.push({entry.key, entry.tie, entry.task, entry.ready, entry.key});
    }
  }
  while (!heaps.here.empty() && gone(heaps.here.top(), device)) {
    heaps.here.pop();
  }
  while (!heaps.pending.empty() &&
         (gone(heaps.pending.top(), device) || heaps.pending.top().ready <= available)) {
    heaps.pending.pop();
  }
}

void EarliestPair::reject(const Pair& pair) {
  taken_[pair.task.index()] = 0;
  rejected_.emplace(pair.task, pair.device);
}

EarliestPair::Pair EarliestPair::pop(std::span<const TimeNs> available) {
  cancellation_point();
  Pair best;
  Entry best_entry{};
  const auto consider = [&](const Entry& entry, double sum, size_t device) {
    const Entry candidate{sum, entry.tie, entry.task, entry.ready, entry.key};
    if (!best.task.valid() || best_entry < candidate) {
      best = {entry.task, device};
      best_entry = candidate;
    }
  };
  for (size_t d = 0; d < heaps_.size(); ++d) {
    advance(d, available[d]);
    const Heaps& heaps = heaps_[d];
    if (!heaps.here.empty()) {
      const Entry& top = heaps.here.top();
      consider(top, static_cast<double>(available[d]) + top.key, d);
    }
    if (!heaps.pending.empty()) {
      consider(heaps.pending.top(), heaps.pending.top().order, d);
    }
  }
  if (best.task.valid()) {
    taken_[best.task.index()] = 1;
  }
  return best;
}

}  // namespace dfsim::inline schedulers
