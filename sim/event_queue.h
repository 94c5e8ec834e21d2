// EventQueue: what happens next. Ordered by (time, sequence): events of one instant come in the
// order in which they were scheduled, so that a run is the same every time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace dfsim {

struct Event {
  TimeNs time_ns = 0;
  uint64_t sequence = 0;  // unique within a queue
  uint32_t kind = 0;      // meaning is the owner's
  uint32_t payload = 0;

  bool before(const Event& other) const {
    return time_ns != other.time_ns ? time_ns < other.time_ns : sequence < other.sequence;
  }
};

// A binary heap in one array. push and pop are O(log size) and allocate only when the array grows.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  const Event& top() const { return heap_.front(); }

  // Sequence numbers are handed out in order; a caller that schedules an event later than it
  // decides on it takes the number early to keep the event's place within its instant.
  uint64_t take_sequence() { return next_sequence_++; }
  void push(TimeNs time_ns, uint32_t kind, uint32_t payload) {
    push(Event{time_ns, take_sequence(), kind, payload});
  }
  void push(const Event& event) {
    size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0 && event.before(heap_[(hole - 1) / 2])) {
      heap_[hole] = heap_[(hole - 1) / 2];
      hole = (hole - 1) / 2;
    }
    heap_[hole] = event;
  }
  // Only when not empty.
  Event pop() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      sift_down(last);
    }
    return first;
  }
  void clear() {
    heap_.clear();
    next_sequence_ = 0;
  }

 private:
  void sift_down(const Event& event) {
    const size_t size = heap_.size();
    size_t hole = 0;
    for (size_t child = 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size && heap_[child + 1].before(heap_[child])) {
        ++child;
      }
      if (!heap_[child].before(event)) {
        break;
      }
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = event;
  }

  std::vector<Event> heap_;
  uint64_t next_sequence_ = 0;
};

}  // namespace dfsim
