// A cost model in front of another one, with a hash map of answers per kind of device.
#include "opmodel/cached_model.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace dfsim::inline opmodel {
namespace {

struct HashOp {
  size_t operator()(const OpDescriptor& op) const { return op.hash(); }
};

class CachedModel final : public CostModel {
 public:
  explicit CachedModel(const CostModel& model) : model_(model) {}

  std::string_view name() const override { return model_.name(); }

  Status predict(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                 std::span<OpCost> out) const override {
    auto& known = known_[device_kind(device)];
    std::vector<OpDescriptor> missing;
    for (const OpDescriptor& op : ops) {
      if (known.try_emplace(op, OpCost()).second) {
        missing.push_back(op);
      }
    }
    std::vector<OpCost> costs(missing.size());
    const Status status = model_.predict(missing, device, costs);
    for (size_t i = 0; i < missing.size(); ++i) {
      if (status.ok()) {
        known[missing[i]] = costs[i];
      } else {
        known.erase(missing[i]);
      }
    }
    DFSIM_RETURN_IF_ERROR(status);
    for (size_t i = 0; i < ops.size(); ++i) {
      out[i] = known.at(ops[i]);
    }
    return ok_status();
  }

  double interval_scale(const DeviceSpec& device) const override {
    return model_.interval_scale(device);
  }

  double common_spread(const DeviceSpec& device) const override {
    return model_.common_spread(device);
  }

 private:
  const CostModel& model_;
  mutable std::map<std::string, std::unordered_map<OpDescriptor, OpCost, HashOp>> known_;
};

}  // namespace

std::string device_kind(const DeviceSpec& device) {
  std::string key = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", device.model, device.cost_model,
                                static_cast<int>(device.type), device.tf32_flops_per_s,
                                device.allow_tf32, device.memory_bytes_per_s, device.memory_bytes,
                                device.l2_bytes, device.compute_units, device.launch_overhead_ns);
  for (const PeakRate& peak : device.peaks) {
    key += fmt::format("|{}:{}:{}", static_cast<int>(peak.dtype), peak.flops_per_s,
                       peak.matrix_flops_per_s);
  }
  key += fmt::format("|board:{}|clock:{}|cache:{}", device.board_power_w, device.clock_hz,
                     device.cache_bytes_per_s);
  key += fmt::format("|sustained:{}", device.sustained_memory_bytes_per_s);
  for (const PeakRate& rate : device.sustained) {
    key += fmt::format("|{}:{}:{}", static_cast<int>(rate.dtype), rate.flops_per_s,
                       rate.matrix_flops_per_s);
  }
  return key;
}

std::unique_ptr<CostModel> make_cached_model(const CostModel& model) {
  return std::make_unique<CachedModel>(model);
}

}  // namespace dfsim::inline opmodel
