// Operators inside loops and branches, which are costed as one: what they consist of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/ops/work.h"

namespace dfsim::inline study {

// Points into the graph that it was found in.
struct InnerOp {
  const Graph* graph = nullptr;
  const Op* op = nullptr;
  std::string part;   // "body", "then_branch"...
  int depth = 1;      // of nesting
  int64_t trips = 1;  // runs of it per run of the outermost operator, as far as trips are known
  OpWork work;        // of one run
};

// All of `op`'s subgraphs, inner ones behind the operator that has them; what is known before the
// run is left out. Work that does not fit in 63 bits counts as none: the totals have refused it
// before.
std::vector<InnerOp> inner_ops(const Op& op);

}  // namespace dfsim::inline study
