// Groups repeat in every layer, so the costs of messages are computed once per group of devices.
#include "partition/collectives/group_cost_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace dfsim::inline partition {
namespace {

CollectiveKind kind_of(const Op& op) {
  return op.op_type == "AllReduce"       ? CollectiveKind::kAllReduce
         : op.op_type == "ReduceScatter" ? CollectiveKind::kReduceScatter
         : op.op_type == "AllToAll"      ? CollectiveKind::kAllToAll
                                         : CollectiveKind::kAllGather;
}

// Bytes that go to the next rank and to the one before.
std::pair<Bytes, Bytes> halo_bytes(const Op& op, Bytes bytes) {
  const int64_t before = op.attributes.int_or("before", 0);
  const int64_t after = op.attributes.int_or("after", 0);
  const Bytes slice = bytes / std::max<int64_t>(1, before + after);
  return {before * slice, after * slice};
}

}  // namespace

const GroupCosts& GroupCostCache::of(const std::vector<DeviceId>& group) {
  const auto [it, is_new] = costs_.try_emplace(group);
  if (is_new) {
    it->second = group_costs(platform_, routes_, group);
  }
  return it->second;
}

Status GroupCostCache::check_connected(const std::vector<DeviceId>& group) const {
  for (const DeviceId a : group) {
    for (const DeviceId b : group) {
      if (a != b && !routes_.route(a.value(), b.value()).reachable) {
        return invalid_input(fmt::format(
            "platform '{}': no links lead from {} to {}; choose devices that are connected, or "
            "add the links to the hardware file",
            printable(platform_.name), printable(platform_.device(a).name),
            printable(platform_.device(b).name)));
      }
    }
  }
  return ok_status();
}

TimeNs collective_op_ns(const Op& op, Bytes bytes, const GroupCosts& costs) {
  if (op.op_type != "HaloExchange") {
    return collective_time_ns(kind_of(op), bytes, costs);
  }
  const auto [before, after] = halo_bytes(op, bytes);
  const auto most = static_cast<double>(std::max(before, after));
  return static_cast<TimeNs>(costs.ring.alpha_ns + most * costs.ring.beta_ns_per_byte + 0.5);
}

StatusOr<CollectivePlan> plan_collective(const Op& op, Bytes bytes, const GroupCosts& costs) {
  CollectivePlan plan;
  if (op.op_type != "HaloExchange") {
    const CollectiveKind kind = kind_of(op);
    const CollectiveChoice choice = cheapest_collective(kind, bytes, costs);
    plan.extra_ns = std::max<TimeNs>(0, collective_time_ns(kind, bytes, costs) - choice.time_ns);
    DFSIM_ASSIGN_OR_RETURN(
        plan.rounds,
        collective_rounds(kind, choice.algorithm, bytes, static_cast<uint32_t>(costs.ranks),
                          static_cast<uint32_t>(costs.local_ranks)));
    return plan;
  }
  const auto [before, after] = halo_bytes(op, bytes);
  MessageRound round;
  for (uint32_t r = 0; r + 1 < costs.ranks; ++r) {
    if (before > 0) {
      round.push_back({r, r + 1, before});
    }
    if (after > 0) {
      round.push_back({r + 1, r, after});
    }
  }
  plan.rounds.push_back(std::move(round));
  return plan;
}

}  // namespace dfsim::inline partition
