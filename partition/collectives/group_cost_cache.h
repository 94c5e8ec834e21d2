// What messages cost among the devices of a group, worked out once per group; and the messages and
// time of a sharded graph's communication operators.
#pragma once

#include <map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graphs/ir/graph.h"
#include "hardware/route.h"
#include "partition/collectives/collective_steps.h"
#include "partition/collectives/collectives.h"

namespace dfsim::inline partition {

class GroupCostCache {
 public:
  // `platform` outlives it.
  explicit GroupCostCache(const Platform& platform) : platform_(platform), routes_(platform) {}

  const GroupCosts& of(const std::vector<DeviceId>& group);
  const RouteTable& routes() const { return routes_; }

  // Error (kInvalidInput): two devices of the group that no link joins.
  Status check_connected(const std::vector<DeviceId>& group) const;

 private:
  const Platform& platform_;
  RouteTable routes_;
  std::map<std::vector<DeviceId>, GroupCosts> costs_;
};

// A communication operator of domain dfsim on one group, by the cheapest algorithm. `bytes` is that
// of Communication.
struct CollectivePlan {
  std::vector<MessageRound> rounds;
  // What the call takes beyond its messages on idle links: launch, and rates below the links'.
  TimeNs extra_ns = 0;
};
StatusOr<CollectivePlan> plan_collective(const Op& op, Bytes bytes, const GroupCosts& costs);

// The time alone, rounds not written out.
TimeNs collective_op_ns(const Op& op, Bytes bytes, const GroupCosts& costs);

}  // namespace dfsim::inline partition
