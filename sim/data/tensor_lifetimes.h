// TensorLifetimes: when tensors, copies, workspaces and weights take device memory and free it.
//
// A task's outputs and workspace are allocated when it starts. The workspace is freed at its end,
// an output after its last reader on that device has finished and every other device that needs it
// has its copy; a copy is freed after its last reader there. Outputs of the graph stay to the end
// of their request, weights to the end of the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "hardware/platform.h"
#include "sim/data/data_copies.h"
#include "sim/data/device_memory.h"
#include "sim/data/spill.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/task_table.h"
#include "sim/engine/timeline.h"

namespace dfsim::inline sim {

class TensorLifetimes final : public MemoryInventory {
 public:
  // References must outlive it. `spill` may be null. `readers_known`: all readers of a copy are
  // known when it is made (a plan); under policies more may come as long as the data has readers
  // left.
  TensorLifetimes(const ExecGraph& graph, const Platform& platform, const RequestSlots& slots,
                  TaskTable& tasks, DataCopies& copies, DeviceMemory& memory, Spill* spill,
                  const Timeline& timeline, bool readers_known);

  // A new request in the slot: no reader has been served.
  void reset(uint32_t slot);

  // Weights of a plan, before the run. Errors: weights that overflow or do not fit; under policies
  // that wait, a task that does not fit next to the weights.
  Status allocate_weights(const std::vector<uint32_t>& placement);
  // Weights of a decided task move in at once, unless they are there for another request.
  Status allocate_weights_of(uint32_t task, uint32_t device);

  // Takes what the task needs to start; false when it has to wait, or the run has failed.
  bool admit(uint32_t instance, uint32_t device);
  void task_finished(uint32_t instance, uint32_t device);
  // One reader less needs the data on its producer's device; the last one frees it.
  void reader_served(uint32_t slot, uint32_t data);
  // Nobody needs the data on the device any more (it was spilled meanwhile).
  void drop(uint32_t data, uint32_t device);
  // The slot's request is done.
  void free_outputs(uint32_t slot);

  // The ten largest tensors on the device, and its weights.
  std::string holdings(uint32_t device) const override;
  // Of a run with nothing left to happen: an error when a device waits for memory.
  Status deadlock() const;

 private:
  uint32_t data_instance(uint32_t slot, uint32_t data) const { return slot * data_count_ + data; }
  Bytes bytes_for_start(uint32_t task) const;
  Status check_fits_ever(uint32_t task, uint32_t device) const;
  void allocate_for_start(uint32_t instance, uint32_t device);
  void drop_produced(uint32_t slot, uint32_t data);
  void drop_copy(uint32_t copy);

  const ExecGraph& graph_;
  const Platform& platform_;
  const RequestSlots& slots_;
  TaskTable& tasks_;
  DataCopies& copies_;
  DeviceMemory& memory_;
  Spill* spill_;
  const Timeline& timeline_;
  bool readers_known_;
  uint32_t data_count_;
  // By data instance: edges whose reader has not finished (on the producer's device) or has not
  // been sent the data (elsewhere).
  std::vector<uint32_t> readers_left_;
  std::vector<uint32_t> data_offsets_;  // by task, into data_of_
  std::vector<uint32_t> data_of_;
  std::vector<bool> weights_there_;  // under policies: by task and device
};

}  // namespace dfsim::inline sim
