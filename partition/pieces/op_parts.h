// Parts of operators: an operator with a run of one of its factors, as a cost model sees it. Uneven
// splits and split task graphs share this code.
#pragma once

#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/ops/factors/factors.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline partition {

// A tensor as it is when `extent` of the factor is there.
Tensor part_of(const Tensor& tensor, const std::vector<FactorDim>& dims, int factor,
               int64_t extent);
Bytes part_bytes(const Graph& graph, TensorId id, const std::vector<FactorDim>& dims, int factor,
                 int64_t extent);

// Parts along the factor are ordinary operators that exchange nothing: it is parallel, no window
// slides along it, and no attribute or constant shape changes with it.
bool has_plain_parts(const Graph& graph, OpId id, const FactorMap& map, int factor);
// The same of a matrix product or convolution: the operators that are worth a part on a helper.
bool shares_well(const Graph& graph, OpId id, const FactorMap& map, int factor);

// Parts of operators, described for a cost model.
class PartDescriber {
 public:
  explicit PartDescriber(const Graph& graph) : graph_(graph) {}

  Status add(OpId id, const FactorMap& map, int factor, int64_t extent);
  // In the order in which they were added. Errors: those of op_work().
  StatusOr<std::vector<OpDescriptor>> finish();

 private:
  const Graph& graph_;
  GraphBuilder builder_;
  size_t count_ = 0;
};

}  // namespace dfsim::inline partition
