#include "partition/collectives/measured_collectives.h"

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

CollectiveFits find_collective_fits(std::span<const CollectiveFit> known, const Platform& platform,
                                    const RouteTable& routes, std::span<const DeviceId> group) {
  CollectiveFits fits{};
  if (known.empty() || group.size() < 2) {
    return fits;
  }
  const std::string& model = platform.device(group[0]).model;
  const bool alike = std::all_of(group.begin(), group.end(), [&](DeviceId device) {
    return platform.device(device).model == model;
  });
  const Route* slowest = alike ? slowest_route(routes, group) : nullptr;
  if (slowest == nullptr) {
    return fits;
  }
  const std::vector<std::string> operations = collective_operations();
  for (const CollectiveFit& fit : known) {
    if (!runs_over(platform, *slowest, fit.over)) {
      continue;
    }
    for (size_t kind = 0; kind < fits.size(); ++kind) {
      const bool meant = fit.operation.empty() || fit.operation == operations[kind];
      fits[kind] = fits[kind] == nullptr && meant ? &fit : fits[kind];
    }
  }
  auto& broadcast = fits[static_cast<size_t>(CollectiveKind::kBroadcast)];
  if (broadcast == nullptr) {
    broadcast = fits[static_cast<size_t>(CollectiveKind::kAllGather)];
  }
  return fits;
}

CollectiveShape collective_shape(CollectiveKind kind, Bytes bytes, int64_t ranks) {
  const auto p = static_cast<double>(ranks);
  const double passes = kind == CollectiveKind::kAllReduce ? 2 : 1;
  return {passes * (p - 1), passes * (p - 1) / p * static_cast<double>(bytes)};
}

double fitted_collective_ns(const CollectiveFit& fit, CollectiveKind kind, Bytes bytes,
                            int64_t ranks) {
  if (ranks < 2) {
    return 0;
  }
  const CollectiveShape shape = collective_shape(kind, bytes, ranks);
  double least = std::numeric_limits<double>::infinity();
  for (const CollectiveProtocol& protocol : fit.protocols) {
    least =
        std::min(least, protocol.start_ns + shape.steps * protocol.step_ns +
                            shape.bytes / protocol.bytes_per_s * static_cast<double>(kNsPerSecond));
  }
  return least;
}

}  // namespace dfsim::inline partition
