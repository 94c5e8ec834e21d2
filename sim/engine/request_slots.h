// RequestSlots: the requests in flight and the slots that hold their state.
//
// Each request in flight occupies a slot, a copy of the per-task and per-data arrays of the other
// parts; a later request uses the slot again. An *instance* is a task in a slot
// (slot * tasks + task), and likewise for data items. In a single run, instances are tasks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/run_mode.h"
#include "sim/engine/timeline.h"
#include "sim/listener.h"
#include "sim/request_types.h"

namespace dfsim::inline sim {

class RequestSlots {
 public:
  // References must outlive the slots; `listener` may be null.
  RequestSlots(const RequestPlan& plan, uint32_t task_count, Timeline& timeline,
               SimListener* listener);

  // Instances.
  bool single_run() const { return single_run_; }
  uint32_t task_count() const { return task_count_; }
  uint32_t task_of(uint32_t instance) const {
    return single_run_ ? instance : instance % task_count_;
  }
  uint32_t slot_of(uint32_t instance) const { return single_run_ ? 0 : instance / task_count_; }
  uint32_t instance(uint32_t slot, uint32_t task) const { return slot * task_count_ + task; }

  // Schedules the arrivals that are known before the run.
  void schedule_arrivals();
  // A request has come: puts it into a slot, and returns the slot. O(1).
  uint32_t arrive(uint32_t request);
  // The overhead of the request's run is over: its tasks may start.
  void open(uint32_t slot) {
    slots_[slot].open = true;
    slots_[slot].open_ns = timeline_.now_ns();
  }
  // Returns whether it was the last task of the slot's request.
  bool task_finished(uint32_t slot) { return --slots_[slot].tasks_left == 0; }
  // The slot's request is done. It keeps its slot, so that the other parts can clear their state...
  void finish(uint32_t slot);
  // ... until this; in a closed loop the next request follows at once.
  void vacate(uint32_t slot);

  // All slots so far, in use or not.
  uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }
  uint32_t request_of(uint32_t slot) const { return slots_[slot].request; }  // kNoIndex = vacant
  // kNoIndex = the request has not come or is done.
  uint32_t slot_of_request(uint64_t request) const {
    return request < slot_of_request_.size() ? slot_of_request_[request] : kNoIndex;
  }
  uint32_t tasks_left(uint32_t slot) const { return slots_[slot].tasks_left; }
  bool is_open(uint32_t slot) const { return slots_[slot].open; }
  TimeNs arrival_ns(uint32_t slot) const { return slots_[slot].arrival_ns; }
  TimeNs open_ns(uint32_t slot) const { return slots_[slot].open_ns; }

  bool all_finished() const { return finished_ == records_.size(); }
  const std::vector<RequestRecord>& records() const { return records_; }
  std::vector<RequestRecord> take_records() { return std::move(records_); }

 private:
  struct RequestSlot {
    uint32_t request = kNoIndex;
    uint32_t tasks_left = 0;
    bool open = false;
    TimeNs arrival_ns = 0;
    TimeNs open_ns = 0;
  };

  const RequestPlan& plan_;
  Timeline& timeline_;
  SimListener* listener_;
  uint32_t task_count_;
  bool single_run_;
  std::vector<RequestSlot> slots_;
  std::vector<uint32_t> vacant_;
  std::vector<uint32_t> slot_of_request_;
  std::vector<RequestRecord> records_;
  size_t finished_ = 0;
};

}  // namespace dfsim::inline sim
