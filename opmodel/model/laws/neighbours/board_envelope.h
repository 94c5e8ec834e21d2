// A board with other rates, next to a given one: what is faster everywhere must not be slower.
//
// Purpose: trees that learned from several boards answer by leaves, so that a board with a faster
//   memory may come out slower, where the same operator falls into another leaf.
// Internal to opmodel.
#pragma once

#include <vector>

#include "hardware/platform.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

struct OtherBoard {
  DeviceSpec device;
  bool faster = false;  // in one respect, and slower in none; else the other way round
};

// `device` with more and less bandwidth, and with higher and lower rates and clock; none for other
// devices than GPUs. O(dtypes).
std::vector<OtherBoard> other_boards(const DeviceSpec& device);

// The times of an operator on other boards.
struct BoardEnvelope {
  TimeNs least_ns = 0;    // on slower boards; 0 = nothing is known
  TimeNs longest_ns = 0;  // on faster ones

  void add(const OtherBoard& board, TimeNs time_ns);
  // Moves `cost`, a prior, to where it falls with every rate.
  void apply(OpCost* cost) const;
};

}  // namespace dfsim::inline opmodel
