// Uneven splits: one large operator shared between unlike devices in proportion to their speed.
//
// A model runs on one device; operators where it pays give a part of a parallel factor to a helper
// of another kind (a CPU beside a GPU): the helper gets its slice of the activations that carry the
// factor and the whole of those that do not over the links, keeps its part of the weights, and
// sends its part of the result back. Both work at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "opmodel/cost_model.h"
#include "partition/sharding/spmd_program.h"

namespace dfsim::inline partition {

struct UnevenOp {
  OpId op;
  int factor = 0;
  DeviceId helper;
  int64_t helper_extent = 0;  // of the factor; the rest stays on the main device
};

// The operators of which a helper should take a part, each with the share that is done soonest by
// the cost model and idle links; none where it does not pay. Helpers are devices of another model
// than `main` that links join to it. Only operators whose parts are ordinary operators count:
// matrix products and convolutions without attributes that a split changes. Errors: those of
// op_work() and of the cost model. O(operators * factors * shares tried).
StatusOr<std::vector<UnevenOp>> find_uneven_ops(const Graph& graph, const Platform& platform,
                                                DeviceId main, const CostModel& model);

// The program of the graph on `main` with these operators shared. Errors (kInvalidInput) also: an
// operator or share that cannot be split so.
StatusOr<SpmdProgram> make_uneven_program(const Graph& graph, const std::vector<UnevenOp>& uneven,
                                          const Platform& platform, DeviceId main,
                                          const CostModel& model);

}  // namespace dfsim::inline partition
