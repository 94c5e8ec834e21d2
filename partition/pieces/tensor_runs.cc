#include "partition/pieces/tensor_runs.h"

#include <algorithm>

namespace dfsim::inline partition {
namespace {

// The first dimension that is not 1; the rank when all are.
int first_dim(const Shape& shape) {
  int dim = 0;
  while (dim < shape.rank() && shape[dim].extent() == 1) {
    ++dim;
  }
  return dim;
}

int64_t elements_behind(const Shape& shape, int dim) {
  int64_t count = 1;
  for (int d = dim + 1; d < shape.rank(); ++d) {
    count *= shape[d].extent();
  }
  return count;
}

}  // namespace

std::vector<int64_t> even_bounds(int64_t extent, int pieces) {
  const int64_t count = std::clamp<int64_t>(pieces, 1, std::max<int64_t>(1, extent));
  std::vector<int64_t> bounds;
  for (int64_t k = 0; k <= count; ++k) {
    bounds.push_back(extent / count * k + std::min(k, extent % count));
  }
  return bounds;
}

std::optional<TensorRuns> runs_of(const std::vector<FactorDim>& dims, int factor,
                                  const std::vector<int64_t>& bounds) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].factor == factor) {
      TensorRuns runs = {static_cast<int>(d), bounds};
      for (int64_t& bound : runs.bounds) {
        bound *= dims[d].block;
      }
      return runs;
    }
  }
  return std::nullopt;
}

std::optional<TensorRuns> through_view(const TensorRuns& runs, const Shape& from, const Shape& to) {
  if (from.extents() == to.extents()) {
    return runs;
  }
  const int dim = first_dim(to);
  if (runs.dim != first_dim(from) || dim >= to.rank()) {
    return std::nullopt;
  }
  const int64_t row_from = elements_behind(from, runs.dim);
  const int64_t row_to = elements_behind(to, dim);
  TensorRuns seen = {dim, {}};
  for (const int64_t bound : runs.bounds) {
    if (row_to <= 0 || bound * row_from % row_to != 0) {
      return std::nullopt;
    }
    seen.bounds.push_back(bound * row_from / row_to);
  }
  return seen.bounds.back() == to[dim].extent() ? std::optional(seen) : std::nullopt;
}

double common_share(const TensorRuns& a, size_t i, const TensorRuns& b, size_t j) {
  const auto length = [](const TensorRuns& runs, size_t k) {
    return static_cast<double>(runs.bounds[k + 1] - runs.bounds[k]);
  };
  const auto extent = [](const TensorRuns& runs) {
    return static_cast<double>(std::max<int64_t>(1, runs.bounds.back()));
  };
  if (a.dim != b.dim || a.bounds.back() != b.bounds.back()) {
    return length(a, i) / extent(a) * (length(b, j) / extent(b));
  }
  const int64_t begin = std::max(a.bounds[i], b.bounds[j]);
  const int64_t end = std::min(a.bounds[i + 1], b.bounds[j + 1]);
  return static_cast<double>(std::max<int64_t>(0, end - begin)) / extent(a);
}

}  // namespace dfsim::inline partition
