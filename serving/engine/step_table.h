// Costs of steps, asked of the model once and reused. Decodes cost by their number and their mean
// context: between two grid points of the mean context (eight per octave) the cost is interpolated
// linearly between two exact calls of the model.
//
// Complexity: O(1) amortised per step; memory grows with the number of different compositions and
// is bounded (the table of mixed steps starts over at kMaxMixed entries, which changes no value).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "serving/step_cost.h"

namespace dfsim::inline serving {

// Costs of steps of one composition over a range of the decodes' mean context.
struct CostSegment {
  int64_t low = 0;  // mean contexts that the two costs belong to
  int64_t high = 0;
  int64_t decodes = 0;
  StepCost at_low;
  StepCost at_high;

  bool covers(int64_t context_total) const {
    return context_total >= low * decodes && context_total <= high * decodes;
  }
  // How far between low and high, 0 to 1.
  double position(int64_t context_total) const {
    return decodes == 0 || high == low ? 0
                                       : static_cast<double>(context_total - low * decodes) /
                                             static_cast<double>((high - low) * decodes);
  }
  TimeNs time_ns(int64_t context_total) const {
    const double slope = static_cast<double>(at_high.time_ns - at_low.time_ns);
    return at_low.time_ns + static_cast<TimeNs>(slope * position(context_total));
  }
  // When the next batch of a pipeline may begin, after the begin of this one.
  TimeNs interval_ns(int64_t context_total) const {
    const double slope = static_cast<double>(at_high.interval_ns - at_low.interval_ns);
    return at_low.interval_ns + static_cast<TimeNs>(slope * position(context_total));
  }
  // The split at `position`, in ns, times `steps`.
  void add_split(double position, double steps, std::array<double, kStepPartCount>* split) const;
  double log_sigma() const { return at_low.log_sigma; }
};

class StepTable {
 public:
  // `model` outlives the table; `scale` multiplies every time (to see how results answer to it).
  explicit StepTable(StepCostModel* model, double scale = 1) : model_(model), scale_(scale) {}

  // The segment for `decodes` sequences with `context_total` tokens of context in all, next to
  // `prefill` slices; `all_tokens` as in StepBatch. The reference is valid until the next call.
  // Errors: the model's.
  StatusOr<const CostSegment*> segment(const std::vector<SequenceSlice>& prefill, int64_t decodes,
                                       int64_t context_total, int64_t all_tokens = 0);
  int64_t model_calls() const { return model_calls_; }

  static constexpr size_t kMaxMixed = 1 << 16;

 private:
  struct Key {
    std::vector<int64_t> values;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  StatusOr<CostSegment> make(const std::vector<SequenceSlice>& prefill, int64_t decodes,
                             int64_t low, int64_t high);
  StatusOr<StepCost> exact(const std::vector<SequenceSlice>& prefill, int64_t decodes,
                           int64_t context);

  StepCostModel* model_;
  double scale_;
  std::unordered_map<uint64_t, CostSegment> decode_;  // by decodes and low
  std::unordered_map<Key, CostSegment, KeyHash> mixed_;
  Key key_;          // kept to save allocations
  StepBatch batch_;  // likewise
  int64_t model_calls_ = 0;
};

}  // namespace dfsim::inline serving
