// The table of step costs: a grid over mean contexts, a table for steps of decodes alone (the many)
// and one for steps with prompts (few repeat unless lengths are fixed).
#include "serving/engine/step_table.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/units.h"

namespace dfsim::inline serving {
namespace {

constexpr int64_t kFineGridEnd = 64;  // below, grid points are 8 tokens apart

struct GridCell {
  int64_t low;
  int64_t high;
};

// Eight cells per octave: attention grows linearly with context, so a line fits well within 12 %.
GridCell cell_of(int64_t context) {
  const int64_t step = context < kFineGridEnd
                           ? 8
                           : int64_t{1} << (std::bit_width(static_cast<uint64_t>(context)) - 4);
  const int64_t low = context / step * step;
  return {low, low + step};
}

}  // namespace

void CostSegment::add_split(double position, double steps,
                            std::array<double, kStepPartCount>* split) const {
  for (size_t part = 0; part < split->size(); ++part) {
    const double low_ns = static_cast<double>(at_low.split_ns[part]);
    const double high_ns = static_cast<double>(at_high.split_ns[part]);
    (*split)[part] += steps * (low_ns + (high_ns - low_ns) * position);
  }
}

size_t StepTable::KeyHash::operator()(const Key& key) const {
  uint64_t hash = key.values.size();
  for (const int64_t value : key.values) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

StatusOr<StepCost> StepTable::exact(const std::vector<SequenceSlice>& prefill, int64_t decodes,
                                    int64_t context) {
  batch_.prefill = prefill;
  batch_.decode.assign(static_cast<size_t>(decodes), {1, std::max<int64_t>(1, context)});
  ++model_calls_;
  DFSIM_ASSIGN_OR_RETURN(StepCost cost, model_->cost(batch_));
  if (scale_ != 1) {
    for (TimeNs* time_ns : {&cost.time_ns, &cost.interval_ns}) {
      *time_ns = static_cast<TimeNs>(std::llround(static_cast<double>(*time_ns) * scale_));
    }
    for (TimeNs& part : cost.split_ns) {
      part = static_cast<TimeNs>(std::llround(static_cast<double>(part) * scale_));
    }
  }
  // A step that takes no time would never let the clock pass.
  cost.time_ns = std::max<TimeNs>(1, cost.time_ns);
  return cost;
}

StatusOr<CostSegment> StepTable::make(const std::vector<SequenceSlice>& prefill, int64_t decodes,
                                      int64_t low, int64_t high) {
  CostSegment segment;
  segment.low = low;
  segment.high = high;
  segment.decodes = decodes;
  DFSIM_ASSIGN_OR_RETURN(segment.at_low, exact(prefill, decodes, low));
  segment.at_high = segment.at_low;
  if (decodes > 0) {
    DFSIM_ASSIGN_OR_RETURN(segment.at_high, exact(prefill, decodes, high));
  }
  return segment;
}

StatusOr<const CostSegment*> StepTable::segment(const std::vector<SequenceSlice>& prefill,
                                                int64_t decodes, int64_t context_total,
                                                int64_t all_tokens) {
  const GridCell cell = decodes == 0 ? GridCell{0, 0} : cell_of(context_total / decodes);
  batch_.all_tokens = all_tokens;
  if (prefill.empty() && all_tokens == 0) {
    const uint64_t key = static_cast<uint64_t>(decodes) << 40 | static_cast<uint64_t>(cell.low);
    auto it = decode_.find(key);
    if (it == decode_.end()) {
      DFSIM_ASSIGN_OR_RETURN(CostSegment made, make(prefill, decodes, cell.low, cell.high));
      it = decode_.emplace(key, made).first;
    }
    return &it->second;
  }
  key_.values.assign({decodes, cell.low, all_tokens});
  for (const SequenceSlice& slice : prefill) {
    key_.values.push_back(slice.new_tokens);
    key_.values.push_back(slice.context_tokens);
  }
  auto it = mixed_.find(key_);
  if (it == mixed_.end()) {
    if (mixed_.size() >= kMaxMixed) {
      mixed_.clear();
    }
    DFSIM_ASSIGN_OR_RETURN(CostSegment made, make(prefill, decodes, cell.low, cell.high));
    it = mixed_.emplace(key_, made).first;
  }
  return &it->second;
}

}  // namespace dfsim::inline serving
