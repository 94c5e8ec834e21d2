// The arithmetic of cores, nodes and links.
#include "study/roofline/scaling/core_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "study/measuring/cpu_topology.h"

namespace dfsim::inline study {
namespace {

int64_t divided_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

// The most nodes that one of the copies touches when they take neighbouring cores.
int64_t compact_nodes(int64_t cores_each, int64_t copies, int64_t node_cores) {
  int64_t most = 1;
  for (int64_t copy = 0; copy < copies; ++copy) {
    const int64_t first = copy * cores_each / node_cores;
    const int64_t last = ((copy + 1) * cores_each - 1) / node_cores;
    most = std::max(most, last - first + 1);
  }
  return most;
}

Status too_many(const DeviceSpec& device, const CoreShare& share, int64_t most,
                const std::string& of) {
  std::string text = share.processes == 1 ? "" : fmt::format("{} processes x ", share.processes);
  text += share.inter == 1 ? "" : fmt::format("{} operators x ", share.inter);
  return invalid_input(fmt::format(
      "--sweep: found {}{} threads, expected at most the {} cores of {}{}; --hw names a "
      "larger machine",
      text, share.threads, most, of, printable(device.model)));
}

}  // namespace

StatusOr<NodeShare> node_share(const DeviceSpec& device, const CoreShare& share) {
  const int64_t cores = std::max(device.compute_units, 1);
  const int64_t nodes = std::max<int64_t>(share.numa.nodes, 1);
  const int64_t node_cores = std::max<int64_t>(cores / nodes, 1);
  const auto& names = placement_names();
  if (std::find(names.begin(), names.end(), share.placement) == names.end()) {
    return invalid_input("--sweep: " +
                         unknown_name_message("placement", share.placement, placement_names()));
  }
  if (share.cores() > cores) {
    return too_many(device, share, cores, "");
  }
  NodeShare placed;
  if (share.placement == "free") {
    placed.nodes = nodes;
  } else if (share.placement == "compact") {
    placed.nodes = compact_nodes(share.cores_each(), share.processes, node_cores);
  } else if (share.placement == "spread") {
    placed.nodes = std::min(share.cores_each(), nodes);
  } else if (divided_up(share.processes, nodes) * share.cores_each() > node_cores) {
    return too_many(device, share, node_cores, "a NUMA node of ");
  }
  placed.copies = divided_up(share.processes * placed.nodes, nodes);
  placed.remote = 1 - 1 / static_cast<double>(placed.nodes);
  return placed;
}

double copy_bytes_per_s(const DeviceSpec& device, const CoreShare& share, double core_bytes_per_s) {
  const StatusOr<NodeShare> placed = node_share(device, share);
  DFSIM_CHECK(placed.ok());  // callers check with node_share()
  const auto nodes = static_cast<double>(placed->nodes);
  const auto copies = static_cast<double>(placed->copies);
  const double node_bytes_per_s =
      device.memory_bytes_per_s / static_cast<double>(std::max<int64_t>(share.numa.nodes, 1));
  const double drawn = static_cast<double>(share.cores_each()) * core_bytes_per_s;
  double most = std::min(drawn, nodes * node_bytes_per_s / copies);
  if (nodes > 1) {
    most = std::min(most, nodes * nodes * share.numa.link_bytes_per_s / copies);
  }
  return most;
}

int64_t threads_of_share(const DeviceSpec& device, const CoreShare& share) {
  const int64_t cores = std::max(device.compute_units, 1);
  const int64_t nodes = std::max<int64_t>(share.numa.nodes, 1);
  int64_t each = cores / (share.processes * share.inter);
  if (share.placement == "node") {
    each = std::min(each, cores / nodes / (divided_up(share.processes, nodes) * share.inter));
  }
  return std::max<int64_t>(each, 1);
}

}  // namespace dfsim::inline study
