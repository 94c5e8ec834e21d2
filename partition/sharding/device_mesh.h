// DeviceMesh: devices of a platform arranged along named axes ("data" x "tensor").
//
// A rank is a device's position in the mesh, row-major: the last axis runs fastest. A set of axes
// is a bit mask over them; its group of a rank are the ranks that differ from it on those axes
// only, in row-major order of their coordinates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "hardware/platform.h"

namespace dfsim::inline partition {

using AxisSet = uint32_t;  // bit i = axis i
inline constexpr size_t kMaxMeshAxes = 8;

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

// The platform's accelerators, or its CPUs where it has none, in its order.
std::vector<DeviceId> compute_devices(const Platform& platform);

class DeviceMesh {
 public:
  // `devices` in order of rank; empty = the first of compute_devices(). Errors (kInvalidInput): no
  // axis or more than kMaxMeshAxes, a name that is empty or repeated, a size below 1, more devices
  // than the platform has, a wrong number of devices, or a device named twice.
  static StatusOr<DeviceMesh> make(const Platform& platform, std::vector<MeshAxis> axes,
                                   std::vector<DeviceId> devices = {});

  const std::vector<MeshAxis>& axes() const { return axes_; }
  size_t device_count() const { return devices_.size(); }
  const std::vector<DeviceId>& devices() const { return devices_; }
  // Devices along these axes together; 1 for the empty set.
  int64_t size(AxisSet axes) const;
  // The mask of one axis. Error (kNotFound): no axis of that name.
  StatusOr<AxisSet> axis(const std::string& name) const;
  // Position of `rank` in its group.
  int64_t position(size_t rank, AxisSet axes) const;
  // All ranks of the group, by position.
  std::vector<uint32_t> group(size_t rank, AxisSet axes) const;
  // "data, tensor"; "" for the empty set.
  std::string names(AxisSet axes) const;

 private:
  std::vector<MeshAxis> axes_;
  std::vector<DeviceId> devices_;
};

}  // namespace dfsim::inline partition
