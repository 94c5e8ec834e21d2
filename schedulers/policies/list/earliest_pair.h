// EarliestPair: among ready tasks and devices, the pair of least max(available, data ready) + key.
//
// What ETF (key 0), min-min (key = time) and DLS (key = -level - advantage) search for. Per device
// three heaps: tasks whose data is there (by key), tasks whose data is on its way (by ready + key),
// and the latter by arrival; tasks taken elsewhere are dropped when they surface.
// Complexity: O(devices * log ready) per task, instead of scanning all pairs for each decision.
#pragma once

#include <cstdint>
#include <queue>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace dfsim::inline schedulers {

class EarliestPair {
 public:
  EarliestPair(size_t tasks, size_t devices) : taken_(tasks, 0), heaps_(devices) {}

  // Adds a task on a device. Of equal sums the smaller `tie` wins, then the smaller task.
  void push(TaskId task, size_t device, TimeNs ready, double key, double tie) {
    Heaps& heaps = heaps_[device];
    heaps.arrivals.push({static_cast<double>(ready), tie, task, ready, key});
    heaps.pending.push({static_cast<double>(ready) + key, tie, task, ready, key});
  }

  struct Pair {
    TaskId task;
    size_t device = 0;
  };
  // Takes the best pair, or none when nothing is left; `available` per device never decreases
  // between calls.
  Pair pop(std::span<const TimeNs> available);
  // Puts the task of the last pop() back on all devices but that one, for good.
  void reject(const Pair& pair);

 private:
  struct Entry {
    double order;
    double tie;
    TaskId task;
    TimeNs ready;
    double key;
    bool operator<(const Entry& other) const {  // reversed: std::priority_queue keeps the largest
      if (order != other.order) {
        return order > other.order;
      }
      return tie != other.tie ? tie > other.tie : task > other.task;
    }
  };
  struct Heaps {
    std::priority_queue<Entry> here;
    std::priority_queue<Entry> pending;
    std::priority_queue<Entry> arrivals;
  };

  void advance(size_t device, TimeNs available);
  bool gone(const Entry& entry, size_t device) const {
    return taken_[entry.task.index()] != 0 ||
           (!rejected_.empty() && rejected_.contains({entry.task, device}));
  }

  std::vector<uint8_t> taken_;
  std::vector<Heaps> heaps_;
  std::set<std::pair<TaskId, size_t>> rejected_;
};

}  // namespace dfsim::inline schedulers
