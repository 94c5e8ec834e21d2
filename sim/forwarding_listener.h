// ForwardingListener: passes every event on to another listener. Logs derive from it, override what
// they note, and call the base: so several listen to one run.
#pragma once

#include "sim/listener.h"

namespace dfsim::inline sim {

class ForwardingListener : public SimListener {
 public:
  // `next` may be null, and outlives this otherwise.
  explicit ForwardingListener(SimListener* next) : next_(next) {}

  void on_task_dispatched(const DispatchEvent& event) override {
    if (next_ != nullptr) {
      next_->on_task_dispatched(event);
    }
  }
  void on_task_waited(const WaitEvent& event) override {
    if (next_ != nullptr) {
      next_->on_task_waited(event);
    }
  }
  void on_task_started(const TaskEvent& event) override {
    if (next_ != nullptr) {
      next_->on_task_started(event);
    }
  }
  void on_task_finished(const TaskEvent& event) override {
    if (next_ != nullptr) {
      next_->on_task_finished(event);
    }
  }
  void on_transfer_started(const TransferEvent& event) override {
    if (next_ != nullptr) {
      next_->on_transfer_started(event);
    }
  }
  void on_transfer_finished(const TransferEvent& event) override {
    if (next_ != nullptr) {
      next_->on_transfer_finished(event);
    }
  }
  void on_memory_allocated(const MemoryEvent& event) override {
    if (next_ != nullptr) {
      next_->on_memory_allocated(event);
    }
  }
  void on_memory_freed(const MemoryEvent& event) override {
    if (next_ != nullptr) {
      next_->on_memory_freed(event);
    }
  }
  void on_request_arrived(uint32_t request, TimeNs time_ns) override {
    if (next_ != nullptr) {
      next_->on_request_arrived(request, time_ns);
    }
  }
  void on_request_finished(uint32_t request, TimeNs time_ns) override {
    if (next_ != nullptr) {
      next_->on_request_finished(request, time_ns);
    }
  }

 private:
  SimListener* next_;
};

}  // namespace dfsim::inline sim
