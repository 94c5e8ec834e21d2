// StageGraph: what the splitters of stage_split.h cut into the stages of a pipeline, and within
// what limits.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dfsim::inline partition {

struct StageNode {
  double time = 0;      // on one device, in any unit
  double cpu_time = 0;  // on a CPU, where limits allow some
  double bytes = 0;     // resident (weights)
  bool cpu_only = false;
};

// Something that is computed with one node and read with others, and what it costs each stage that
// sends or receives it. Readers may come earlier: a gradient, computed in the backward pass of a
// node, is read in that of its predecessors.
struct StageResult {
  uint32_t source = 0;
  std::vector<uint32_t> readers;
  double cost = 0;
};

struct StageGraph {
  std::vector<StageNode> nodes;
  std::vector<std::pair<uint32_t, uint32_t>> edges;  // from the smaller index to the larger
  std::vector<StageResult> results;
};

struct StageLimits {
  uint32_t devices = 1;
  uint32_t cpus = 0;       // beside them; stages there have no communication of their own
  double capacity = 0;     // bytes of each device, 0 = not limited
  bool replicate = false;  // a stage may take several devices, which share its load evenly
  // Communication goes on while the stage computes: the larger of both counts, not the sum.
  bool overlap = false;
};

// Errors (kInvalidInput): edges that descend, indices out of range, no device.
Status check_stage_graph(const StageGraph& graph, const StageLimits& limits);

}  // namespace dfsim::inline partition
