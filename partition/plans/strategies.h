// Strategies: which tensors to cut, so that propagation finds a known kind of parallelism. One file
// each. They only make seeds (partition/sharding/propagate.h); different axes of a mesh can be
// combined.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/passes/layout/split_weights.h"
#include "partition/sharding/device_mesh.h"
#include "partition/sharding/propagate.h"

namespace dfsim::inline partition {

// Data parallel: the batch, dimension 0 of every graph input that has the first one's extent there.
// Error (kInvalidInput): the batch does not divide by the axis, or no input has a dimension.
StatusOr<std::vector<ShardingSeed>> data_parallel_seeds(const Graph& graph, const DeviceMesh& mesh,
                                                        AxisSet axis);

// Tensor parallel as Megatron does it (Shoeybi et al. 2019, arXiv:1909.08053): the columns (output
// features or channels) of each weight whose cut results reach the rows of other weights through
// operators that can all work on their part, heads and activations in between. Propagation cuts
// those rows, and one all-reduce follows. Works on convolutions as on matrix products. Tables of
// kLeastVocabulary rows or more that indices are looked up in are cut by their rows, projections to
// as many columns that the model ends with by those: their results stay cut.
// `kept_whole` gets a line for each extent that does not divide by the axis, where it is not null.
// Error (kInvalidInput): no weight can be cut like that. O(ops * operators reached).
StatusOr<std::vector<ShardingSeed>> tensor_parallel_seeds(
    const Graph& graph, const DeviceMesh& mesh, AxisSet axis,
    std::vector<std::string>* kept_whole = nullptr);

}  // namespace dfsim::inline partition
