#include "schedulers/comm_model.h"

#include <fmt/format.h>

#include "base/text.h"

namespace dfsim::inline schedulers {

CommModel::CommModel(const RouteTable& routes, size_t devices) : devices_(devices) {
  for (uint32_t from = 0; from < devices; ++from) {
    for (uint32_t to = 0; to < devices; ++to) {
      const Route& route = routes.route(from, to);
      pairs_.push_back({route.ns_per_byte, route.latency_ns});
      mean_.latency_ns += static_cast<double>(route.latency_ns);
      mean_.ns_per_byte += route.ns_per_byte;
    }
  }
  if (devices > 1) {
    const auto pairs = static_cast<double>(devices * (devices - 1));
    mean_.latency_ns /= pairs;
    mean_.ns_per_byte /= pairs;
  }
}

StatusOr<std::unique_ptr<CommModel>> make_comm_model(const Platform& platform) {
  const RouteTable routes(platform);
  for (uint32_t from = 0; from < platform.devices.size(); ++from) {
    for (uint32_t to = 0; to < platform.devices.size(); ++to) {
      if (!routes.route(from, to).reachable) {
        return invalid_input(fmt::format(
            "platform '{}': no links lead from device '{}' to '{}'; add a link or a switch between "
            "them",
            printable(platform.name), printable(platform.devices[from].name),
            printable(platform.devices[to].name)));
      }
    }
  }
  return std::unique_ptr<CommModel>(new CommModel(routes, platform.devices.size()));
}

}  // namespace dfsim::inline schedulers
