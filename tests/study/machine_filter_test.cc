// The list of machines and its filters.
#include <catch2/catch.hpp>

#include <algorithm>

#include "study/machines/machines.h"

using namespace dfsim;

TEST_CASE("Machines: filters leave those of the vendor that have the memory") {
  const auto all = list_machines();
  REQUIRE(all.ok());
  MachineFilter filter;
  filter.vendor = "NVIDIA";
  filter.min_memory_bytes = 80e9;
  const auto chosen = list_machines(filter);
  REQUIRE(chosen.ok());
  size_t expected = 0;
  for (const Machine& machine : all->machines) {
    expected += machine.vendor == "nvidia" &&
                        std::ranges::any_of(machine.platform.devices,
                                            [](const DeviceSpec& device) {
                                              return device.memory_bytes >= 80'000'000'000;
                                            })
                    ? 1
                    : 0;
  }
  CHECK(chosen->machines.size() == expected);
  CHECK(expected > 2);
  CHECK(expected < all->machines.size());
}

TEST_CASE("Machines: the memory of a node's CPUs does not count") {
  MachineFilter filter;
  filter.min_memory_bytes = 100e9;
  const auto chosen = list_machines(filter);
  REQUIRE(chosen.ok());
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(chosen->machines,
                               [&](const Machine& m) { return m.platform.name == name; });
  };
  CHECK_FALSE(has("dgx-a100"));  // 8 GPUs of 80 GB and 2 CPUs of 1 TB
  CHECK(has("dgx-h200"));
  CHECK(has("epyc-7742"));
}

TEST_CASE("Machines: an unknown vendor and a filter that nothing passes are errors") {
  MachineFilter filter;
  filter.vendor = "nvida";
  const auto unknown = list_machines(filter);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.status().message().find("did you mean 'nvidia'?") != std::string::npos);
  filter.vendor = "nvidia";
  filter.min_memory_bytes = 1e15;
  CHECK_FALSE(list_machines(filter).ok());
}
