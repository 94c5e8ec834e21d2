// InputSender: gets a task's inputs to its device when other devices produced them.
//
// Three ways, chosen once per run: where no policy asks what is in flight and arrivals are known
// ahead, an input is booked and needs no event (kBooked); data with a single reader needs no copy
// to be found by others (kUnshared); else each device gets one copy (kCopies), which may have to
// wait for memory, or come from the host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graphs/ir/exec_graph.h"
#include "hardware/platform.h"
#include "sim/data/data_copies.h"
#include "sim/data/device_memory.h"
#include "sim/data/spill.h"
#include "sim/data/tensor_lifetimes.h"
#include "sim/data/transfers.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/task_table.h"
#include "sim/engine/timeline.h"

namespace dfsim::inline sim {

// The parts that simulate memory; null = memory, or spilling, is not simulated.
struct MemoryParts {
  DeviceMemory* memory = nullptr;
  TensorLifetimes* lifetimes = nullptr;
  Spill* spill = nullptr;
};

class InputSender {
 public:
  // References and pointers must outlive it. `shared`: graph.has_shared_data(). `keep_copies`:
  // copies are looked for after their arrival, too (memory is simulated, or policies ask for them).
  InputSender(const ExecGraph& graph, const Platform& platform, const RequestSlots& slots,
              TaskTable& tasks, DataCopies& copies, Transfers& transfers, const MemoryParts& parts,
              Timeline& timeline, bool shared, bool keep_copies);

  // Room for the data of this slot and all before it.
  void grow(uint32_t slot);
  // The reader of `edge` is to run on `to`, the data was produced on `from`. Returns whether the
  // input is there or its arrival known; if not, an arrival or a fetch will bring it. Fails the
  // timeline when no links lead there.
  bool send(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to);
  // send() was called for all edges that leave a task which has just finished.
  void sent_outputs(uint32_t slot, std::span<const Edge> out);
  // The device's next task lacks inputs: brings back what is on the host, and makes room for those
  // that wait for memory. Only where tensors spill.
  void fetch_inputs(uint32_t task, uint32_t device);
  // Memory was freed: sends copies that wait for it, in order, unless a task comes first.
  void send_waiting(uint32_t device);

 private:
  enum class Way : uint8_t { kBooked, kUnshared, kCopies };

  bool check_route(uint32_t data, uint32_t from, uint32_t to) {
    return transfers_.reachable(from, to) || fail_no_route(data, from, to);
  }
  bool fail_no_route(uint32_t data, uint32_t from, uint32_t to);
  bool send_booked(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to);
  bool send_unshared(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to);
  bool send_by_copy(uint32_t slot, uint32_t edge, uint32_t from, uint32_t to);
  uint32_t make_copy(uint32_t slot, uint32_t data, uint32_t from, uint32_t to);
  void send_copy(uint32_t copy);

  const ExecGraph& graph_;
  const Platform& platform_;
  const RequestSlots& slots_;
  TaskTable& tasks_;
  DataCopies& copies_;
  Transfers& transfers_;
  MemoryParts parts_;
  Timeline& timeline_;
  bool shared_;
  bool forgets_;  // all readers of data are known as soon as it exists
  Way way_;
  BookedArrivals booked_;
};

}  // namespace dfsim::inline sim
