// DispatchLog: when the host's threads launched each task of a run.
#pragma once

#include <vector>

#include "sim/forwarding_listener.h"

namespace dfsim::inline study {

// Work of a host thread that hands one task to its device.
struct DispatchRecord {
  TimeNs begin_ns = 0;
  TimeNs end_ns = 0;  // equal to begin_ns where dispatching takes no time
  uint32_t thread = 0;
};

class DispatchLog final : public ForwardingListener {
 public:
  // Passes everything on to `next`, which may be null and outlives the log otherwise.
  explicit DispatchLog(SimListener* next) : ForwardingListener(next) {}

  // By task; tasks that were never dispatched have an empty record, or none at the end.
  const std::vector<DispatchRecord>& dispatches() const { return dispatches_; }

  void on_task_dispatched(const DispatchEvent& event) override {
    if (event.request == 0) {
      const size_t task = event.task.index();
      if (task >= dispatches_.size()) {
        dispatches_.resize(task + 1);
      }
      dispatches_[task] = {event.begin_ns, event.time_ns, event.thread};
    }
    ForwardingListener::on_task_dispatched(event);
  }

 private:
  std::vector<DispatchRecord> dispatches_;
};

}  // namespace dfsim::inline study
