// Ranks, coordinates and groups of a mesh, in row-major order: the last axis runs fastest.
#include "partition/sharding/device_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/units.h"

namespace dfsim::inline partition {
namespace {

Status check_axes(const std::vector<MeshAxis>& axes, int64_t* devices) {
  if (axes.empty() || axes.size() > kMaxMeshAxes) {
    return invalid_input(fmt::format("mesh: {} axes; expected 1 to {}", axes.size(), kMaxMeshAxes));
  }
  std::set<std::string> names;
  Count count(1);
  for (const MeshAxis& axis : axes) {
    if (axis.name.empty() || !names.insert(axis.name).second) {
      return invalid_input(
          fmt::format("mesh: the axis name '{}' is empty or used twice; give each "
                      "axis a name of its own",
                      printable(axis.name)));
    }
    if (axis.size < 1) {
      return invalid_input(fmt::format("mesh: axis '{}' has the size {}; expected 1 or more",
                                       printable(axis.name), axis.size));
    }
    count *= Count(axis.size);
  }
  *devices = count.value();
  return ok_status();
}

}  // namespace

std::vector<DeviceId> compute_devices(const Platform& platform) {
  std::vector<DeviceId> accelerators;
  std::vector<DeviceId> all;
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    all.emplace_back(d);
    if (platform.devices[d].type != DeviceType::kCpu) {
      accelerators.emplace_back(d);
    }
  }
  return accelerators.empty() ? all : accelerators;
}

StatusOr<DeviceMesh> DeviceMesh::make(const Platform& platform, std::vector<MeshAxis> axes,
                                      std::vector<DeviceId> devices) {
  int64_t wanted = 0;
  DFSIM_RETURN_IF_ERROR(check_axes(axes, &wanted));
  const bool given = !devices.empty();
  if (!given) {
    devices = compute_devices(platform);
  }
  const auto there = static_cast<int64_t>(devices.size());
  if (there < wanted || (given && there != wanted)) {
    return invalid_input(
        fmt::format("mesh: its axes need {} devices, '{}' has {} for it; choose smaller axes or "
                    "another platform",
                    wanted, printable(platform.name), there));
  }
  devices.resize(static_cast<size_t>(wanted));
  const std::set<DeviceId> distinct(devices.begin(), devices.end());
  if (distinct.size() != devices.size() || distinct.rbegin()->index() >= platform.devices.size()) {
    return invalid_input("mesh: a device is named twice, or is not one of the platform");
  }
  DeviceMesh mesh;
  mesh.axes_ = std::move(axes);
  mesh.devices_ = std::move(devices);
  return mesh;
}

int64_t DeviceMesh::size(AxisSet axes) const {
  int64_t product = 1;
  for (size_t a = 0; a < axes_.size(); ++a) {
    product *= (axes >> a & 1) != 0 ? axes_[a].size : 1;
  }
  return product;
}

StatusOr<AxisSet> DeviceMesh::axis(const std::string& name) const {
  std::vector<std::string> names;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].name == name) {
      return AxisSet{1} << a;
    }
    names.push_back(axes_[a].name);
  }
  return not_found(unknown_name_message("mesh axis", name, std::move(names)));
}

int64_t DeviceMesh::position(size_t rank, AxisSet axes) const {
  int64_t position = 0;
  int64_t scale = 1;
  auto rest = static_cast<int64_t>(rank);
  for (size_t a = axes_.size(); a-- > 0;) {
    if ((axes >> a & 1) != 0) {
      position += rest % axes_[a].size * scale;
      scale *= axes_[a].size;
    }
    rest /= axes_[a].size;
  }
  return position;
}

std::vector<uint32_t> DeviceMesh::group(size_t rank, AxisSet axes) const {
  const AxisSet others = ~axes;
  std::vector<uint32_t> ranks;
  for (size_t other = 0; other < devices_.size(); ++other) {
    if (position(other, others) == position(rank, others)) {
      ranks.push_back(static_cast<uint32_t>(other));
    }
  }
  return ranks;
}

std::string DeviceMesh::names(AxisSet axes) const {
  std::vector<std::string> names;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if ((axes >> a & 1) != 0) {
      names.push_back(axes_[a].name);
    }
  }
  return join(names, ", ");
}

}  // namespace dfsim::inline partition
