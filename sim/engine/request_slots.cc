// The life of a request: it arrives and takes a slot, opens, finishes, and leaves the slot to a
// later one.
#include "sim/engine/request_slots.h"

#include <algorithm>

namespace dfsim::inline sim {

RequestSlots::RequestSlots(const RequestPlan& plan, uint32_t task_count, Timeline& timeline,
                           SimListener* listener)
    : plan_(plan),
      timeline_(timeline),
      listener_(listener),
      task_count_(task_count),
      single_run_(plan.requests == 1),
      slot_of_request_(plan.requests, kNoIndex),
      records_(plan.requests) {}

void RequestSlots::schedule_arrivals() {
  if (!plan_.arrivals_ns.empty()) {
    // One at a time: the queue of events stays short however many requests there are.
    timeline_.push(plan_.arrivals_ns[0], kRequestArrived, 0);
    return;
  }
  const size_t first = single_run_ ? 1 : std::min(plan_.in_flight, plan_.requests);
  for (uint32_t request = 0; request < first; ++request) {
    timeline_.push(0, kRequestArrived, request);
  }
}

uint32_t RequestSlots::arrive(uint32_t request) {
  if (!plan_.arrivals_ns.empty() && request + 1 < plan_.requests) {
    timeline_.push(plan_.arrivals_ns[request + 1], kRequestArrived, request + 1);
  }
  auto slot = static_cast<uint32_t>(slots_.size());
  if (vacant_.empty()) {
    slots_.emplace_back();
  } else {
    slot = vacant_.back();
    vacant_.pop_back();
  }
  slots_[slot] = RequestSlot{request, task_count_, false, timeline_.now_ns(), 0};
  slot_of_request_[request] = slot;
  records_[request].arrival_ns = timeline_.now_ns();
  if (listener_ != nullptr) {
    listener_->on_request_arrived(request, timeline_.now_ns());
  }
  return slot;
}

void RequestSlots::finish(uint32_t slot) {
  const uint32_t request = slots_[slot].request;
  records_[request].finish_ns = timeline_.now_ns();
  slot_of_request_[request] = kNoIndex;
  ++finished_;
  if (listener_ != nullptr) {
    listener_->on_request_finished(request, timeline_.now_ns());
  }
}

void RequestSlots::vacate(uint32_t slot) {
  slots_[slot].request = kNoIndex;
  vacant_.push_back(slot);
  if (!plan_.arrivals_ns.empty()) {
    return;
  }
  const size_t next = finished_ + plan_.in_flight - 1;
  if (next < plan_.requests) {
    timeline_.push(timeline_.now_ns(), kRequestArrived, static_cast<uint32_t>(next));
  }
}

}  // namespace dfsim::inline sim
