// Representatives: one device of each group of a pipeline, which stands for all that do the same.
//
// Under SPMD every rank of a group runs the same program. Where the devices are alike, every
// collective takes each of its groups the same time, and messages between stages take each rank the
// same way, one rank per group tells what all of them do: a run of dp x tp x pp devices shrinks to
// pp. Collectives are still priced for the whole group, and links that several ranks share at once
// give the representative its share. Anything else is no symmetry, and `reason` says what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/platform.h"
#include "partition/collectives/group_cost_cache.h"
#include "partition/sharding/device_mesh.h"

namespace dfsim::inline partition {

struct Representatives {
  Platform machine;               // the devices below, and the links between them
  std::vector<DeviceId> devices;  // by group, of `machine`
  int64_t stand_for = 1;          // devices, each of them
  std::string reason;             // why there is no symmetry; "" = all of the above holds
};

// `groups` as in ProgramLayout, each with one replica; `axes` are those that collectives run over.
// O(groups^2 * ranks * hops + ranks * group sizes^2).
Representatives find_representatives(const Platform& platform, const DeviceMesh& mesh,
                                     const std::vector<std::vector<std::vector<DeviceId>>>& groups,
                                     const std::vector<AxisSet>& axes, GroupCostCache* costs);

}  // namespace dfsim::inline partition
