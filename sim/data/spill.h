// Spill: moves tensors out of full memories to the host, and back when their reader comes.
//
// A tensor that no running task and no transfer uses may leave; the one whose next reader comes
// last in program order goes first (Belady, IBM Systems Journal 5(2), 1966,
// doi:10.1147/sj.52.0078). A tensor that has been to the host once is dropped the second time
// without a transfer. For single runs only: data items and their instances are the same here.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "graphs/ir/exec_graph.h"
#include "hardware/platform.h"
#include "sim/data/data_copies.h"
#include "sim/data/device_memory.h"
#include "sim/data/transfers.h"
#include "sim/engine/task_table.h"
#include "sim/engine/timeline.h"

namespace dfsim::inline sim {

// What a transfer out of a memory has come to.
enum class SpillEnd : uint8_t {
  kOnHost,      // the tensor has left
  kDead,        // nobody needs it any more: it is to be dropped on the device, too
  kStillNeeded  // a task or a transfer uses it: it stays, and the readers there can have it
};

class Spill {
 public:
  // References must outlive it.
  Spill(const ExecGraph& graph, const Platform& platform, TaskTable& tasks,
        const DataCopies& copies, DeviceMemory& memory, Transfers& transfers, Timeline& timeline);

  // A copy was made: it begins on (the way to) its device.
  void add_copy(uint32_t copy);
  // The data, which must be the device's own or have a copy there, is whole in its memory.
  bool on_device(uint32_t data, uint32_t device) const {
    return place_of(data, device)->at == Home::kOnDevice;
  }
  bool copy_on_device(uint32_t copy) const { return copies_at_[copy].at == Home::kOnDevice; }
  bool produced_data_on_device(uint32_t data) const {
    return produced_at_[data].at == Home::kOnDevice;
  }
  // The data has arrived or was produced there, and may leave again.
  void came_to_device(uint32_t data, uint32_t device);

  // Running readers keep their inputs on the device: +1 and -1 for all inputs of the task.
  void pin_inputs(uint32_t task, uint32_t device, int by);
  // Where a copy of the data comes from, the device that produced it or the host; the device then
  // keeps the data until sent().
  uint32_t source_of(uint32_t data);
  void sent(const Shipment& shipment);

  // Frees memory for `bytes` that `task` needs, by sending out the tensors that are needed last,
  // never an input of `task`. Returns whether they fit now; if not, more is on its way out or
  // nothing can go. O(tensors on the device * readers) for each that goes.
  bool make_room(uint32_t device, Bytes bytes, uint32_t task);
  SpillEnd spilled(const Shipment& shipment);
  // The data is on the host and has nothing on its way to or from the device.
  bool on_host(uint32_t data, uint32_t device) const {
    const Place* place = place_of(data, device);
    return place != nullptr && place->at == Home::kOnHost;
  }
  // Brings it back; there must be room for it.
  void fetch(uint32_t data, uint32_t device);
  void fetched(const Shipment& shipment);

  // The data is needed no more where it was produced, or as a copy. Returns whether it holds device
  // memory that is to be freed now; if not it has left, or spilled() will return kDead.
  bool drop_produced(uint32_t data, uint32_t device) {
    return drop(produced_at_[data], data, device);
  }
  // A copy on its way out has to keep its id until spilled(); then call drop_copy().
  bool copy_dies_on_the_way(uint32_t copy);
  bool drop_copy(uint32_t copy, uint32_t data, uint32_t device) {
    return drop(copies_at_[copy], data, device);
  }

  Bytes host_peak() const { return host_peak_; }

 private:
  enum class Home : uint8_t { kOnDevice, kSpilling, kOnHost, kFetching };
  // Of a data item, for the device that produced it or one that has a copy.
  struct Place {
    Home at = Home::kOnDevice;
    bool host_copy = false;  // the host holds it, too
    bool dead = false;       // to be freed as soon as it has left
    uint32_t pins = 0;       // running readers, and transfers out of it
  };
  struct Device {
    Bytes leaving = 0;             // being spilled: free soon
    std::set<uint32_t> spillable;  // data items whole on the device
  };

  // Null when the device has neither produced the data nor a copy of it.
  const Place* place_of(uint32_t data, uint32_t device) const;
  Place* place_of(uint32_t data, uint32_t device) {
    return const_cast<Place*>(std::as_const(*this).place_of(data, device));
  }
  MemoryItem item(uint32_t data, uint32_t device) const {
    return {tasks_.producer_device(0, data) == device ? MemoryUse::kTensor : MemoryUse::kCopy, 0,
            data};
  }
  uint32_t last_needed(uint32_t device, uint32_t task) const;
  uint32_t next_reader(uint32_t data, uint32_t device) const;
  void send_out(uint32_t data, uint32_t device);
  void take_from_readers(uint32_t data, uint32_t device);
  bool drop(Place& place, uint32_t data, uint32_t device);

  const ExecGraph& graph_;
  const Platform& platform_;
  TaskTable& tasks_;
  const DataCopies& copies_;
  DeviceMemory& memory_;
  Transfers& transfers_;
  Timeline& timeline_;
  std::vector<Place> produced_at_;  // by data
  std::vector<Place> copies_at_;    // by copy
  std::vector<Device> devices_;
  Bytes host_in_use_ = 0;
  Bytes host_peak_ = 0;
};

}  // namespace dfsim::inline sim
