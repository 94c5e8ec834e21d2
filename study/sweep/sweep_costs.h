// Costs that the points of a sweep share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/status.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline study {

// Remembers what cost models answered, by model, kind of device and operator. For several threads:
// those that ask about one kind of device wait for each other, so that nothing is computed twice.
class SweepCosts {
 public:
  // Fills `out` as model.predict() does, bit by bit.
  Status predict(const CostModel& model, std::span<const OpDescriptor> ops,
                 const DeviceSpec& device, std::span<OpCost> out);

 private:
  struct HashDescriptor {
    size_t operator()(const OpDescriptor& op) const { return op.hash(); }
  };
  struct Known {
    std::mutex mutex;
    std::unordered_map<OpDescriptor, OpCost, HashDescriptor> costs;
  };

  std::mutex mutex_;
  std::map<std::pair<const CostModel*, std::string>, std::unique_ptr<Known>> known_;
};

// A cost model that asks `model` through `costs`. Both outlive it.
class SharedCostModel final : public CostModel {
 public:
  SharedCostModel(const CostModel& model, SweepCosts& costs) : model_(model), costs_(costs) {}

  std::string_view name() const override { return model_.name(); }
  Status predict(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                 std::span<OpCost> out) const override {
    return costs_.predict(model_, ops, device, out);
  }
  double interval_scale(const DeviceSpec& device) const override {
    return model_.interval_scale(device);
  }
  double common_spread(const DeviceSpec& device) const override {
    return model_.common_spread(device);
  }

 private:
  const CostModel& model_;
  SweepCosts& costs_;
};

}  // namespace dfsim::inline study
