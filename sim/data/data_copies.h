// DataCopies: which devices have, or will get, a copy of data that another device produced, and
// which tasks there wait for it.
//
// A data item goes to a device at most once: later readers find the copy. Lists are threaded
// through arrays, so that nothing is allocated per copy or per reader.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/ir/exec_graph.h"
#include "sim/engine/request_slots.h"
#include "sim/engine/timeline.h"

namespace dfsim::inline sim {

struct DataCopy {
  uint32_t data = 0;  // of the graph
  uint32_t slot = 0;
  uint32_t device = 0;
  uint32_t next = kNoIndex;          // copy of the same data
  uint32_t first_reader = kNoIndex;  // edge that waits for it; further ones by next_reader()
  uint32_t readers_left = 0;         // known readers that have not finished
  bool present = false;
};

class DataCopies {
 public:
  // Keeping: a copy stays until it is dropped; else only until it has arrived, for runs in which
  // all readers are known as soon as the data exists.
  enum class Keeping : uint8_t { kUntilArrival, kUntilDropped };

  // `shared`: some data item has two readers.
  DataCopies(const ExecGraph& graph, Keeping keeping, bool shared)
      : data_count_(graph.data_count()),
        edge_count_(graph.edge_count()),
        kept_(keeping == Keeping::kUntilDropped),
        shared_(shared) {}

  // Room for the data of this slot and all before it.
  void grow(uint32_t slot);

  // The copy of the slot's data for the device; kNoIndex = none. O(copies of the data).
  uint32_t find(uint32_t slot, uint32_t data, uint32_t device) const {
    uint32_t copy = heads_[index(slot, data)];
    while (copy != kNoIndex && copies_[copy].device != device) {
      copy = copies_[copy].next;
    }
    return copy;
  }
  // The first copy of the data; further ones by DataCopy::next.
  uint32_t first(uint32_t slot, uint32_t data) const { return heads_[index(slot, data)]; }
  const DataCopy& at(uint32_t copy) const { return copies_[copy]; }
  uint32_t add(uint32_t slot, uint32_t data, uint32_t device);
  // The reader of `edge` is on the copy's device. Returns whether the copy is there already; if
  // not, the reader waits for arrive().
  bool add_reader(uint32_t copy, uint32_t edge);
  // The copy is there. Returns the edge of the first reader that waits; the latest comes first.
  uint32_t arrive(uint32_t copy);
  // The edge of the reader that waits for the same copy as that of `edge`.
  uint32_t next_reader(uint32_t slot, uint32_t edge) const {
    return next_reader_.empty() ? kNoIndex : next_reader_[slot * edge_count_ + edge];
  }
  // A reader has finished; returns whether it was the last known one.
  bool reader_finished(uint32_t copy) { return --copies_[copy].readers_left == 0; }
  // Takes the copy out; its id may be used for another one.
  void drop(uint32_t copy);
  // No task will look for copies of the data any more. The copies themselves go when they arrive.
  void forget(uint32_t slot, uint32_t data) { heads_[index(slot, data)] = kNoIndex; }
  // The request of the slot is done: drops what is left of its copies.
  void drop_all(uint32_t slot);

 private:
  size_t index(uint32_t slot, uint32_t data) const { return slot * data_count_ + data; }

  size_t data_count_;
  size_t edge_count_;
  bool kept_;
  bool shared_;
  std::vector<DataCopy> copies_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> heads_;        // by data instance
  std::vector<uint32_t> next_reader_;  // by slot and edge; empty: no data item has two readers
};

// Booked arrivals of the data of the task that has just finished: where arrivals are known ahead,
// this is all there is to remember of a copy, and only until all readers have been told.
class BookedArrivals {
 public:
  struct Booked {
    uint32_t device = 0;
    uint32_t next = kNoIndex;  // of the same data
    uint32_t data_instance = 0;
    TimeNs time_ns = 0;
    uint64_t sequence = 0;
  };

  void grow(size_t data_instances) { heads_.resize(data_instances, kNoIndex); }
  // Null when the data is not on its way to the device.
  const Booked* find(uint32_t data_instance, uint32_t device) const {
    uint32_t id = heads_[data_instance];
    while (id != kNoIndex && booked_[id].device != device) {
      id = booked_[id].next;
    }
    return id == kNoIndex ? nullptr : &booked_[id];
  }
  void add(uint32_t data_instance, uint32_t device, TimeNs time_ns, uint64_t sequence) {
    booked_.push_back({device, heads_[data_instance], data_instance, time_ns, sequence});
    heads_[data_instance] = static_cast<uint32_t>(booked_.size() - 1);
  }
  // All readers of the data have been told. O(booked since the last time).
  void clear() {
    for (const Booked& booked : booked_) {
      heads_[booked.data_instance] = kNoIndex;
    }
    booked_.clear();
  }

 private:
  std::vector<Booked> booked_;
  std::vector<uint32_t> heads_;  // by data instance
};

}  // namespace dfsim::inline sim
