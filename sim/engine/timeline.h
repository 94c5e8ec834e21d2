// Timeline: the clock of one run, the events to come, and the first error.
//
// Every part of the engine holds a reference to the run's timeline: it reads the time there and
// schedules what happens next. Only the event loop takes events out and moves the clock.
#pragma once

#include <cstdint>
#include <utility>

#include "base/status.h"
#include "base/units.h"
#include "sim/queues/event_queue.h"

namespace dfsim::inline sim {

// No task, device, copy, request, ...: ids of the engine are 32 bits wide and dense from 0.
inline constexpr uint32_t kNoIndex = UINT32_MAX;

enum SimEventKind : uint32_t {
  kTaskFinished,     // payload: queue
  kRouteArrived,     // payload: route; its first transfer is there
  kTransferArrived,  // payload: transfer
  kRequestArrived,   // payload: request
  kHostOpened,       // payload: slot; the overhead of its run is over
  kHostDispatched,   // payload: host thread
  kWorkerReady,      // payload: queue; a worker of a pool has set up its task
  // The machine does not notice the events from here on, and SimResult::events leaves them out.
  kInputsArrived,     // payload: instance; its last input is there
  kTransferStarted,   // payload: transfer; only with a listener
  kTransferFinished,  // the same, where arrivals are known ahead
  kPolicyThought,     // the policy has thought about what became ready
};

class Timeline {
 public:
  TimeNs now_ns() const { return now_ns_; }
  // Whether the place `sequence` within the instant `time_ns` is over, or is the current event.
  bool reached(TimeNs time_ns, uint64_t sequence) const {
    return time_ns < now_ns_ || (time_ns == now_ns_ && sequence <= sequence_);
  }

  void push(TimeNs time_ns, SimEventKind kind, uint32_t payload) {
    queue_.push(time_ns, kind, payload);
  }
  // A caller that decides on an event before scheduling it takes the sequence number at the
  // decision.
  uint64_t take_sequence() { return queue_.take_sequence(); }
  void push_at(TimeNs time_ns, uint64_t sequence, SimEventKind kind, uint32_t payload) {
    queue_.push(Event{time_ns, sequence, kind, payload});
  }

  bool empty() const { return queue_.empty(); }
  // Time of the next event; kNever = there is none.
  TimeNs next_ns() { return queue_.empty() ? kNever : queue_.top().time_ns; }
  // The next event. The clock stays where it is: the event may turn out to be out of date.
  Event pop() { return queue_.pop(); }
  void move_to(const Event& event) {
    now_ns_ = event.time_ns;
    sequence_ = event.sequence;
    events_ += event.kind < kInputsArrived ? 1 : 0;
  }
  // To an instant of the network, which has a queue of its own.
  void move_to(TimeNs time_ns) {
    now_ns_ = time_ns;
    ++events_;
  }
  // Something happened that needed no event of its own.
  void count_event() { ++events_; }
  uint64_t events() const { return events_; }

  // The first error ends the run; later ones are consequences of it.
  void fail(Status status) {
    if (error_.ok()) {
      error_ = std::move(status);
    }
  }
  bool ok() const { return error_.ok(); }
  const Status& error() const { return error_; }

 private:
  TimeNs now_ns_ = 0;
  uint64_t sequence_ = 0;  // of the event being handled
  uint64_t events_ = 0;
  EventQueue queue_;
  Status error_;
};

}  // namespace dfsim::inline sim
