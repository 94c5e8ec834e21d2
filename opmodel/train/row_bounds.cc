#include "opmodel/train/row_bounds.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "opmodel/features/features.h"
#include "opmodel/train/profile_ops.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kCacheFactor = 4;  // tensors below this many caches may never see main memory

bool rate_is_stand_in(const OpGeometry& geometry, const DeviceSpec& device) {
  return device.type == DeviceType::kNpu && geometry.matrix &&
         std::none_of(device.peaks.begin(), device.peaks.end(), [&](const PeakRate& peak) {
           return peak.dtype == geometry.dtype && peak.matrix_flops_per_s > 0;
         });
}

}  // namespace

double least_time_us(const OpGeometry& geometry, const DeviceSpec& device) {
  if (geometry.family == Family::kGeneric) {
    return 0;
  }
  OpGeometry ideal = geometry;
  ideal.cpu_effort = 1;  // an estimate, no limit
  const Roofline roofline = roofline_of(ideal, device, 0);
  const bool cached =
      geometry.bytes < kCacheFactor * static_cast<double>(std::max<Bytes>(device.l2_bytes, 0));
  return std::max(rate_is_stand_in(geometry, device) ? 0 : roofline.compute_us,
                  cached ? 0 : roofline.memory_us);
}

BoundFn row_bounds(const std::string& device) {
  const auto known = std::make_shared<std::map<std::string, std::optional<DeviceSpec>>>();
  return [device, known](const Profile& profile, const ProfileRow& row) {
    const std::string& name = device.empty() ? profile.text(row.device) : device;
    auto it = known->find(name);
    if (it == known->end()) {
      auto found = find_device(name);
      it = known->emplace(name, found.ok() ? std::optional(*found) : std::nullopt).first;
    }
    return it->second.has_value()
               ? least_time_us(geometry_of(descriptor_of(profile, row)), *it->second) * kNsPerUs
               : 0.0;
  };
}

}  // namespace dfsim::inline opmodel
