// How a tensor is cut into runs along one dimension, and how much of one cut another needs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/ops/factors/factors.h"

namespace dfsim::inline partition {

// Cuts a dimension into runs [bounds[i], bounds[i + 1]); bounds[0] is 0, the last one the extent.
struct TensorRuns {
  int dim = 0;
  std::vector<int64_t> bounds;

  size_t count() const { return bounds.size() - 1; }
  bool operator==(const TensorRuns&) const = default;
};

// Runs of about equal length of a factor; at most one per step of it.
std::vector<int64_t> even_bounds(int64_t extent, int pieces);
// The dimension that carries the factor, cut at the factor's bounds; none where no dimension does.
std::optional<TensorRuns> runs_of(const std::vector<FactorDim>& dims, int factor,
                                  const std::vector<int64_t>& bounds);

// The same cut of a view of the tensor, where the cut dimension is the first that is not 1 in both,
// so that every run is one stretch of memory; none otherwise.
std::optional<TensorRuns> through_view(const TensorRuns& runs, const Shape& from, const Shape& to);

// The share of the whole tensor that run `i` of `a` and run `j` of `b` have in common: that of the
// overlap where both cut the same dimension, otherwise the product of both shares.
double common_share(const TensorRuns& a, size_t i, const TensorRuns& b, size_t j);

}  // namespace dfsim::inline partition
