// Sharding a graph: the program that every device of a mesh runs on its shards (SPMD).
//
// Each op of the plan becomes the same op at shard shapes, so that its definition gives the work,
// bytes and memory of the shard; where an operand does not lie as its op wants it, the collectives
// and slices of domain dfsim (graphs/ops/families/extensions/collective.cc) come before it. Their
// attributes: `axes`, the mask of mesh axes they run over, `group`, the devices of one group, and
// what each one needs.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "partition/sharding/device_mesh.h"
#include "partition/sharding/propagate.h"

namespace dfsim::inline partition {

// Work that every device along some axes does, because the op is not split over them.
struct ReplicatedOp {
  OpId op;             // of the source graph: of a training step's, where it is one
  std::string name;    // for people: its type and name
  int64_t copies = 1;  // devices that do the same
  std::string reason;  // why no axis could split it, "" when none was asked to
};

// One communication op of the sharded graph.
struct Communication {
  OpId op;  // of the sharded graph
  AxisSet axes = 0;
  // Bytes of the buffer as collective formulas take it: the whole group's result of a gather, the
  // whole operand of a reduction or all-to-all; of a halo exchange what one device receives.
  Bytes bytes = 0;
};

struct ShardingReport {
  std::vector<ReplicatedOp> unsplittable;  // ops without factors, on a mesh of several devices
  std::vector<ReplicatedOp> replicated;    // others that are not split over all axes
  std::vector<ShardingConflict> conflicts;
  std::vector<Communication> communications;
  // Arithmetic of the source graph, and of all devices together without communication.
  int64_t source_macs = 0;
  int64_t source_flops = 0;
  Count all_macs;
  Count all_flops;
  Bytes weight_bytes = 0;  // on each device
  Bytes input_bytes = 0;
  Bytes output_bytes = 0;
};

struct ShardedGraph {
  Graph graph;
  std::vector<TensorId> local;  // by tensor of the source: its shard, as the plan has it
  ShardingReport report;
};

// `plan` is of this graph and mesh. Error (kInvalidInput): work that does not fit in 63 bits.
// O(ops + operand ranks + inserted ops).
StatusOr<ShardedGraph> shard_graph(const Graph& graph, const DeviceMesh& mesh,
                                   const ShardingPlan& plan);

}  // namespace dfsim::inline partition
