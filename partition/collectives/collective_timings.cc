// Chooses measured timings for a group by the links that its slowest route crosses, and
// evaluates them. A library takes its fastest protocol for each call, so the minimum counts.
#include "partition/collectives/collective_timings.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/name_pattern.h"

namespace dfsim::inline partition {
namespace {

bool runs_over(const Platform& platform, const Route& route, const std::string& names) {
  return std::all_of(route.hops.begin(), route.hops.end(), [&](const Hop& hop) {
    return matches_pattern(platform.links[hop.link.index()].name, names);
  });
}

}  // namespace

const Route* slowest_route(const RouteTable& routes, std::span<const DeviceId> group) {
  const Route* slowest = nullptr;
  for (const DeviceId a : group) {
    for (const DeviceId b : group) {
      if (a == b) {
        continue;
      }
      const Route& route = routes.route(a.value(), b.value());
      if (!route.reachable) {
        return nullptr;
      }
      if (slowest == nullptr || route.ns_per_byte > slowest->ns_per_byte) {
        slowest = &route;
      }
    }
  }
  return slowest;
}

CollectiveTimings find_collective_timings(std::span<const CollectiveTiming> known,
                                          const Platform& platform, const RouteTable& routes,
                                          std::span<const DeviceId> group) {
  CollectiveTimings timings{};
  if (known.empty() || group.size() < 2) {
    return timings;
  }
  const std::string& model = platform.device(group[0]).model;
  const bool alike = std::all_of(group.begin(), group.end(), [&](DeviceId device) {
    return platform.device(device).model == model;
  });
  const Route* slowest = alike ? slowest_route(routes, group) : nullptr;
  if (slowest == nullptr) {
    return timings;
  }
  const std::vector<std::string> operations = collective_operations();
  for (const CollectiveTiming& timing : known) {
    if (!runs_over(platform, *slowest, timing.over)) {
      continue;
    }
    for (size_t kind = 0; kind < timings.size(); ++kind) {
      const bool meant = timing.operation.empty() || timing.operation == operations[kind];
      timings[kind] = timings[kind] == nullptr && meant ? &timing : timings[kind];
    }
  }
  auto& broadcast = timings[static_cast<size_t>(CollectiveKind::kBroadcast)];
  if (broadcast == nullptr) {
    broadcast = timings[static_cast<size_t>(CollectiveKind::kAllGather)];
  }
  return timings;
}

CollectiveShape collective_shape(CollectiveKind kind, Bytes bytes, int64_t ranks) {
  const auto p = static_cast<double>(ranks);
  const double passes = kind == CollectiveKind::kAllReduce ? 2 : 1;
  return {passes * (p - 1), passes * (p - 1) / p * static_cast<double>(bytes)};
}

double timed_collective_ns(const CollectiveTiming& timing, CollectiveKind kind, Bytes bytes,
                           int64_t ranks) {
  if (ranks < 2) {
    return 0;
  }
  const CollectiveShape shape = collective_shape(kind, bytes, ranks);
  double least = std::numeric_limits<double>::infinity();
  for (const CollectiveProtocol& protocol : timing.protocols) {
    least =
        std::min(least, protocol.start_ns + shape.steps * protocol.step_ns +
                            shape.bytes / protocol.bytes_per_s * static_cast<double>(kNsPerSecond));
  }
  return least;
}

}  // namespace dfsim::inline partition
