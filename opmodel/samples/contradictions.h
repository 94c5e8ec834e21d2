// Contradictions: measured rows that the rest of a profile speaks against, so that one odd
// recording does not teach a model.
//
// - The same shape was measured in at least three places, and one time is over twice their median,
//   or under half of it.
// - An operator of a network was measured at several batch sizes, and its time grows more than 1.5
//   times as fast as the batch and as its kind usually does, or falls (below 0.7):
//   one of the two times is wrong. It is the one that operators of the same kind and about the same
//   bound in all networks speak against: its time over its bound is at least 1.5 times off their
//   median, and more than twice as far (in ln) as the other's. Where they speak against neither or
//   both, as behind a real step (a cache that overflows, another kernel), nothing is called wrong.
// Rows that contradict the rest stay measured times of their shape; trees and lines over batch
// sizes do not learn from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opmodel/samples/training_data.h"

namespace dfsim::inline opmodel {

struct OddSample {
  uint32_t sample = 0;  // index into TrainingData::samples
  // Its time over what the others lead to expect.
  double factor = 1;
  std::string reason;  // "6.8 times as long at batch 32 as at 16"
};

// By sample. O(n log n).
std::vector<OddSample> find_contradictions(const TrainingData& data);

// A row that contradicts the rest of the profile, for reports.
struct ContradictingRow {
  std::string op_type;
  std::string name;
  std::string network;
  int32_t batch = 0;
  double factor = 1;  // its time over the expected one
  std::string reason;
};

}  // namespace dfsim::inline opmodel
