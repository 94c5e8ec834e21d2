#include "study/sweep/sweep_costs.h"

#include <vector>

#include "opmodel/cached_model.h"

namespace dfsim::inline study {

Status SweepCosts::predict(const CostModel& model, std::span<const OpDescriptor> ops,
                           const DeviceSpec& device, std::span<OpCost> out) {
  Known* known = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Known>& entry = known_[{&model, device_kind(device)}];
    if (entry == nullptr) {
      entry = std::make_unique<Known>();
    }
    known = entry.get();
  }
  const std::lock_guard lock(known->mutex);
  std::vector<size_t> missing;
  std::vector<OpDescriptor> asked;
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto found = known->costs.find(ops[i]);
    if (found != known->costs.end()) {
      out[i] = found->second;
    } else {
      missing.push_back(i);
      asked.push_back(ops[i]);
    }
  }
  if (missing.empty()) {
    return ok_status();
  }
  std::vector<OpCost> costs(missing.size());
  DFSIM_RETURN_IF_ERROR(model.predict(asked, device, costs));
  for (size_t i = 0; i < missing.size(); ++i) {
    out[missing[i]] = costs[i];
    known->costs.emplace(std::move(asked[i]), costs[i]);
  }
  return ok_status();
}

}  // namespace dfsim::inline study
