// Sums over a whole graph that need no hardware.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/ops/work.h"

namespace dfsim::inline graphs {

struct GraphTotals {
  int64_t macs = 0;
  int64_t flops = 0;
  int64_t parameters = 0;    // elements of trained weights; no running statistics, no indices
  Bytes weight_bytes = 0;    // all weights, statistics included
  std::vector<OpWork> work;  // by op
};

// Error: a sum does not fit in 63 bits; names the op or says which sum.
StatusOr<GraphTotals> graph_totals(const Graph& graph);

}  // namespace dfsim::inline graphs
