// Lists of copies and of their readers.
#include "sim/data/data_copies.h"

#include <utility>

namespace dfsim::inline sim {

void DataCopies::grow(uint32_t slot) {
  const size_t data = (slot + size_t{1}) * data_count_;
  if (heads_.size() < data) {
    heads_.resize(data, kNoIndex);
  }
  const size_t edges = (slot + size_t{1}) * edge_count_;
  if (shared_ && next_reader_.size() < edges) {
    next_reader_.resize(edges);
  }
}

uint32_t DataCopies::add(uint32_t slot, uint32_t data, uint32_t device) {
  auto id = static_cast<uint32_t>(copies_.size());
  if (free_.empty()) {
    copies_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  uint32_t& head = heads_[index(slot, data)];
  copies_[id] = DataCopy{data, slot, device, std::exchange(head, id), kNoIndex, 0, false};
  return id;
}

bool DataCopies::add_reader(uint32_t id, uint32_t edge) {
  DataCopy& copy = copies_[id];
  ++copy.readers_left;
  if (copy.present) {
    return true;
  }
  if (!next_reader_.empty()) {
    next_reader_[copy.slot * edge_count_ + edge] = copy.first_reader;
  }
  copy.first_reader = edge;
  return false;
}

uint32_t DataCopies::arrive(uint32_t id) {
  DataCopy& copy = copies_[id];
  copy.present = true;
  if (!kept_) {
    free_.push_back(id);
  }
  return std::exchange(copy.first_reader, kNoIndex);
}

void DataCopies::drop(uint32_t id) {
  const DataCopy& copy = copies_[id];
  uint32_t* link = &heads_[index(copy.slot, copy.data)];
  while (*link != id) {
    link = &copies_[*link].next;
  }
  *link = copy.next;
  free_.push_back(id);
}

void DataCopies::drop_all(uint32_t slot) {
  for (uint32_t data = 0; data < data_count_; ++data) {
    uint32_t& head = heads_[index(slot, data)];
    for (uint32_t copy = head; copy != kNoIndex; copy = copies_[copy].next) {
      free_.push_back(copy);
    }
    head = kNoIndex;
  }
}

}  // namespace dfsim::inline sim
