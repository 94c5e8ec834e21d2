// EventQueue: what happens next. Ordered by (time, sequence): events of one instant come in the
// order in which they were scheduled, so that a run is the same every time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/units.h"

namespace dfsim::inline sim {

// After every event.
inline constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();

struct Event {
  TimeNs time_ns = 0;
  uint64_t sequence = 0;  // place within the instant; several of one sequence: larger payload first
  uint32_t kind = 0;      // meaning is the owner's
  uint32_t payload = 0;

  bool before(const Event& other) const {
    if (time_ns != other.time_ns) {
      return time_ns < other.time_ns;
    }
    return sequence != other.sequence ? sequence < other.sequence : payload > other.payload;
  }
};

// A binary heap in one array. push and pop are O(log size) and allocate only when the array grows.
// An event usually schedules another one: pop leaves its place at the root open for the next push.
class EventQueue {
 public:
  bool empty() const { return size() == 0; }
  size_t size() const { return heap_.size() - (open_root_ ? 1 : 0); }
  // Only when not empty.
  const Event& top() {
    if (open_root_) {
      close_root();
    }
    return heap_.front();
  }

  // Sequence numbers are handed out in order; a caller that schedules an event later than it
  // decides on it takes the number early to keep the event's place within its instant.
  uint64_t take_sequence() { return next_sequence_++; }
  void push(TimeNs time_ns, uint32_t kind, uint32_t payload) {
    push(Event{time_ns, take_sequence(), kind, payload});
  }
  void push(const Event& event) {
    if (open_root_) {
      open_root_ = false;
      return sift_down(event);
    }
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
    const Event first = top();
    open_root_ = true;
    return first;
  }
  void clear() {
    heap_.clear();
    open_root_ = false;
    next_sequence_ = 0;
  }

 private:
  void close_root() {
    open_root_ = false;
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      sift_down(last);
    }
  }
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
  bool open_root_ = false;  // heap_[0] is no event any more
  uint64_t next_sequence_ = 0;
};

}  // namespace dfsim::inline sim
