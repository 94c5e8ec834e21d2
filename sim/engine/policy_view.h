// PolicyView: the run as an online policy sees it, for the request whose policy is being asked.
#pragma once

#include <cstdint>
#include <limits>

#include "graphs/ir/exec_graph.h"
#include "schedulers/scheduler.h"
#include "sim/data/data_copies.h"
#include "sim/data/device_memory.h"
#include "sim/data/spill.h"
#include "sim/engine/device_queues.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/task_table.h"
#include "sim/engine/timeline.h"

namespace dfsim::inline sim {

class PolicyView final : public OnlineView {
 public:
  // References must outlive it; `memory` and `spill` may be null.
  PolicyView(const ExecGraph& graph, const RequestSlots& slots, const TaskTable& tasks,
             const DeviceQueues& queues, const DataCopies& copies, const DeviceMemory* memory,
             const Spill* spill, const Timeline& timeline)
      : graph_(graph),
        slots_(slots),
        tasks_(tasks),
        queues_(queues),
        copies_(copies),
        memory_(memory),
        spill_(spill),
        timeline_(timeline) {}

  // From now on the view is of this slot's request.
  void look_at(uint32_t slot) { slot_ = slot; }

  TimeNs now_ns() const override { return timeline_.now_ns(); }
  TimeNs available_ns(DeviceId device) const override {
    return queues_.available_ns(device.value());
  }
  size_t unfinished_tasks(DeviceId device) const override {
    return queues_.unfinished(device.value());
  }
  Bytes free_bytes(DeviceId device) const override {
    return memory_ == nullptr ? std::numeric_limits<Bytes>::max()
                              : memory_->free_bytes(device.value());
  }
  bool has_data(DataId data, DeviceId device) const override;
  DeviceId device_of(TaskId task) const override {
    return DeviceId(tasks_.device_of(slots_.instance(slot_, task.value())));
  }

 private:
  const ExecGraph& graph_;
  const RequestSlots& slots_;
  const TaskTable& tasks_;
  const DeviceQueues& queues_;
  const DataCopies& copies_;
  const DeviceMemory* memory_;
  const Spill* spill_;
  const Timeline& timeline_;
  uint32_t slot_ = 0;
};

}  // namespace dfsim::inline sim
