// GapList: the free time of one device, for schedulers that insert tasks into idle gaps.
//
// Gaps shorter than the shortest task of the device can never be filled and are forgotten at once.
// Gaps are kept in blocks of at most kBlockGaps with the longest length of each, so that a search
// skips blocks without a gap that is long enough.
// Complexity: first_fit O(log blocks + blocks behind `ready` + kBlockGaps), occupy the same;
// appending behind the last task is O(1).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/units.h"

namespace dfsim::inline schedulers {

class GapList {
 public:
  explicit GapList(TimeNs shortest_task_ns = 0)
      : shortest_(std::max<TimeNs>(1, shortest_task_ns)) {}

  // End of the last task.
  TimeNs end_ns() const { return end_; }
  // The earliest start >= ready at which `duration` fits.
  TimeNs first_fit(TimeNs ready, TimeNs duration) const {
    return ready >= end_ ? ready : fit_into_gap(ready, duration);
  }
  // Marks [start, start + duration) as taken. It lies in a gap or behind the last task.
  void occupy(TimeNs start, TimeNs duration);

 private:
  static constexpr size_t kBlockGaps = 64;

  struct Gap {
    TimeNs start;
    TimeNs end;
  };
  struct Block {
    std::array<Gap, kBlockGaps> gaps;
    size_t count = 0;
  };

  TimeNs fit_into_gap(TimeNs ready, TimeNs duration) const;
  // The last block whose first gap starts at or before `time`; 0 when there is none.
  size_t block_of(TimeNs time) const;
  void insert(size_t block, size_t position, Gap gap);
  void erase(size_t block, size_t position);
  void refresh(size_t block);
  bool useful(Gap gap) const { return gap.end - gap.start >= shortest_; }

  TimeNs shortest_;
  TimeNs end_ = 0;
  // Parallel arrays, one entry per block; no block is empty.
  std::vector<TimeNs> first_start_;
  std::vector<TimeNs> longest_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace dfsim::inline schedulers
