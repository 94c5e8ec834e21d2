// The parts that simulate memory, on a PartCase.
#pragma once

#include <memory>

#include "sim/data/data_copies.h"
#include "sim/data/device_memory.h"
#include "sim/data/input_sender.h"
#include "sim/data/spill.h"
#include "sim/data/tensor_lifetimes.h"
#include "sim/data/transfers.h"
#include "tests/sim/part_case.h"

namespace dfsim {

class MemoryCase : public PartCase {
 public:
  using PartCase::PartCase;

  // After the last task and edge. kOff makes only copies and transfers.
  void arrive_with(MemoryPolicy policy) {
    arrive();
    const bool keep = policy != MemoryPolicy::kOff;
    copies = std::make_unique<DataCopies>(
        graph, keep ? DataCopies::Keeping::kUntilDropped : DataCopies::Keeping::kUntilArrival,
        graph.has_shared_data());
    transfers = std::make_unique<Transfers>(graph, platform, *slots, timeline, nullptr);
    if (keep) {
      memory = std::make_unique<DeviceMemory>(platform, policy, *slots, timeline, nullptr);
      if (policy == MemoryPolicy::kSpill) {
        spill = std::make_unique<Spill>(graph, platform, *tasks, *copies, *memory, *transfers,
                                        timeline);
      }
      lifetimes = std::make_unique<TensorLifetimes>(graph, platform, *slots, *tasks, *copies,
                                                    *memory, spill.get(), timeline, true);
      lifetimes->reset(0);
    }
    sender = std::make_unique<InputSender>(graph, platform, *slots, *tasks, *copies, *transfers,
                                           MemoryParts{memory.get(), lifetimes.get(), spill.get()},
                                           timeline, graph.has_shared_data(), keep);
    sender->grow(0);
  }
  // A task starts, and finishes at once.
  void run_task(uint32_t task) {
    REQUIRE(lifetimes->admit(task, placement[task]));
    tasks->mark(task, kPicked);
    tasks->mark(task, kStarted);
    tasks->finish(task);
    lifetimes->task_finished(task, placement[task]);
  }

  std::unique_ptr<DataCopies> copies;
  std::unique_ptr<Transfers> transfers;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Spill> spill;
  std::unique_ptr<TensorLifetimes> lifetimes;
  std::unique_ptr<InputSender> sender;
};

}  // namespace dfsim
