// IndexedHeap: a priority queue of small integers whose keys may change. Ordered by (time, id).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"

namespace dfsim::inline sim {

// set, erase and pop are O(log size). An id is in the heap at most once.
class IndexedHeap {
 public:
  bool empty() const { return heap_.empty(); }
  uint32_t top() const { return heap_.front(); }
  TimeNs top_key() const { return keys_[heap_.front()]; }

  // Inserts `id`, or moves it to its new key.
  void set(uint32_t id, TimeNs key) {
    if (id >= places_.size()) {
      places_.resize(id + 1, kAbsent);
      keys_.resize(id + 1, 0);
    }
    keys_[id] = key;
    if (places_[id] == kAbsent) {
      places_[id] = static_cast<uint32_t>(heap_.size());
      heap_.push_back(id);
    }
    sift(places_[id]);
  }
  void erase(uint32_t id) {
    if (id >= places_.size() || places_[id] == kAbsent) {
      return;
    }
    const uint32_t place = std::exchange(places_[id], kAbsent);
    const uint32_t last = heap_.back();
    heap_.pop_back();
    if (last != id) {
      heap_[place] = last;
      places_[last] = place;
      sift(place);
    }
  }

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  bool before(uint32_t a, uint32_t b) const {
    return keys_[a] != keys_[b] ? keys_[a] < keys_[b] : a < b;
  }
  void put(uint32_t place, uint32_t id) {
    heap_[place] = id;
    places_[id] = place;
  }
  void sift(uint32_t place) {
    const uint32_t id = heap_[place];
    while (place > 0 && before(id, heap_[(place - 1) / 2])) {
      put(place, heap_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    const auto size = static_cast<uint32_t>(heap_.size());
    for (uint32_t child = 2 * place + 1; child < size; child = 2 * place + 1) {
      child += child + 1 < size && before(heap_[child + 1], heap_[child]) ? 1 : 0;
      if (!before(heap_[child], id)) {
        break;
      }
      put(place, heap_[child]);
      place = child;
    }
    put(place, id);
  }

  std::vector<uint32_t> heap_;
  std::vector<uint32_t> places_;  // by id
  std::vector<TimeNs> keys_;      // by id
};

}  // namespace dfsim::inline sim
