// SpmdProgram: a sharded graph on all devices of its mesh, ready for the simulator.
#pragma once

#include <vector>

#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "opmodel/cost_model.h"
#include "partition/device_mesh.h"
#include "partition/shard_graph.h"

namespace dfsim {

// kModel: a collective is a task on each device that takes what its formula says, once the whole
// group is there. kFlow: its messages move over the platform's links, in contention with all else.
enum class CollectiveMode : uint8_t { kModel, kFlow };

struct SpmdProgram {
  ExecGraph graph;                  // ExecGraph::op() points into the sharded graph
  CostTable costs;                  // priced at shard shapes
  std::vector<DeviceId> device_of;  // by task; ids are the order of each device's program
  TimeNs communication_ns = 0;      // formulas of all collectives, as if one followed the other
};

// Every op of the sharded graph once per device. Views cost nothing, as in make_workload(). The
// algorithm of each collective is the cheapest on its group. Errors: those of make_workload() and
// of the cost model. O(devices * (tasks + edges) + messages).
StatusOr<SpmdProgram> make_spmd_program(const ShardedGraph& sharded, const DeviceMesh& mesh,
                                        const Platform& platform, const CostModel& model,
                                        CollectiveMode mode);

}  // namespace dfsim
