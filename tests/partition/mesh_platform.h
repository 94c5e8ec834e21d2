// Platforms and meshes for tests of partitioning.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "partition/sharding/device_mesh.h"

namespace dfsim {

// `devices` GPUs without limits, each with a full-duplex link of 1 byte/ns to one switch; latency
// of a transfer between two of them: `latency_ns`.
inline Platform switched_platform(size_t devices, TimeNs latency_ns = 0) {
  Platform platform;
  platform.name = "switched";
  platform.switches.push_back("sw");
  for (size_t d = 0; d < devices; ++d) {
    DeviceSpec device;
    device.name = fmt::format("d{}", d);
    device.copy_engines = 2;
    platform.devices.push_back(device);
    LinkSpec link;
    link.name = fmt::format("l{}", d);
    link.from = device.name;
    link.to = "sw";
    link.bytes_per_s = 1e9;
    link.latency_ns = latency_ns / 2;
    platform.links.push_back(link);
  }
  return platform;
}

inline DeviceMesh make_mesh(std::vector<MeshAxis> axes) {
  size_t devices = 1;
  for (const MeshAxis& axis : axes) {
    devices *= static_cast<size_t>(axis.size);
  }
  auto mesh = DeviceMesh::make(switched_platform(devices), std::move(axes));
  INFO(mesh.status().message());
  REQUIRE(mesh.ok());
  return std::move(mesh).value();
}

}  // namespace dfsim
