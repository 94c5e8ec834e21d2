#include "opmodel/sol.h"

#include <algorithm>
#include <utility>

namespace dfsim::inline opmodel {

namespace {

class SolModel : public CostModel {
 public:
  explicit SolModel(std::map<std::string, LimitRates> limits) : limits_(std::move(limits)) {}

  std::string_view name() const override { return "speed-of-light"; }

  Status predict(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                 std::span<OpCost> out) const override {
    const auto limits = limits_.find(device.model);
    for (size_t i = 0; i < ops.size(); ++i) {
      const Sol sol = limits == limits_.end() ? speed_of_light(ops[i], device)
                                              : speed_of_light(ops[i], limits->second);
      out[i].time_ns = ns_from_seconds(sol.seconds());
      out[i].low_ns = out[i].time_ns;
      out[i].set_bound(out[i].time_ns);
      out[i].high_ns = ns_from_seconds(sol.seconds() * kWorstOverBound);
      out[i].source = CostSource::kBoundOnly;
      out[i].bound = sol.bound();
    }
    return ok_status();
  }

 private:
  std::map<std::string, LimitRates> limits_;
};

}  // namespace

Bound Sol::bound() const {
  const double largest = std::max({compute_s, memory_s, floor_s});
  if (largest <= 0) {
    return Bound::kNone;
  }
  if (floor_s == largest) {
    return Bound::kLaunch;
  }
  return compute_s == largest ? Bound::kCompute : Bound::kMemory;
}

Sol speed_of_light(const OpWork& work, const DeviceSpec& device) {
  Sol sol;
  const double peak = device.peak_flops_per_s(work.dtype, work.matrix);
  if (peak > 0) {
    sol.compute_s = static_cast<double>(work.flops) / peak;
  }
  if (device.memory_bytes_per_s > 0) {
    sol.memory_s = static_cast<double>(work.bytes()) / device.memory_bytes_per_s;
  }
  sol.floor_s = static_cast<double>(device.launch_overhead_ns) / static_cast<double>(kNsPerSecond);
  return sol;
}

Sol speed_of_light(const OpDescriptor& op, const DeviceSpec& device) {
  switch (op.op_class) {
    case OpClass::kView:
    case OpClass::kConstant:
      return Sol{};
    default:
      return speed_of_light(op.work, device);
  }
}

Sol speed_of_light(const OpDescriptor& op, const LimitRates& rates) {
  Sol sol = speed_of_light(op, rates.device);
  const Bytes bytes = op.work.bytes();
  for (const MemoryLevel& cache : rates.caches) {
    if (sol.memory_s > 0 && bytes <= cache.bytes && cache.bytes_per_s > 0) {
      sol.memory_s = std::min(sol.memory_s, static_cast<double>(bytes) / cache.bytes_per_s);
      break;
    }
  }
  return sol;
}

std::unique_ptr<CostModel> make_sol_model(std::map<std::string, LimitRates> limits) {
  return std::make_unique<SolModel>(std::move(limits));
}

}  // namespace dfsim::inline opmodel
