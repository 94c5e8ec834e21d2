// Small dense tensors of doubles for the reference executor: plain loops, no cleverness.
#pragma once

#include <cstdint>
#include <vector>

namespace dfsim {

using Index = std::vector<int64_t>;

struct RefTensor {
  Index extents;
  std::vector<double> values;  // row-major

  RefTensor() = default;
  explicit RefTensor(Index shape, double fill = 0) : extents(std::move(shape)) {
    values.assign(static_cast<size_t>(count()), fill);
  }
  int64_t count() const {
    int64_t product = 1;
    for (const int64_t extent : extents) {
      product *= extent;
    }
    return product;
  }
  int rank() const { return static_cast<int>(extents.size()); }
  size_t position(const Index& index) const {
    int64_t at = 0;
    for (size_t i = 0; i < extents.size(); ++i) {
      at = at * extents[i] + index[i];
    }
    return static_cast<size_t>(at);
  }
  double& operator[](const Index& index) { return values[position(index)]; }
  double operator[](const Index& index) const { return values[position(index)]; }
  // The element that numpy's broadcasting puts at `index`, aligned at the end.
  double broadcast(const Index& index) const {
    Index own(extents.size());
    for (size_t i = 0; i < own.size(); ++i) {
      const int64_t wanted = index[index.size() - own.size() + i];
      own[i] = extents[i] == 1 ? 0 : wanted;
    }
    return (*this)[own];
  }
};

// Calls visit(index) for every index of the extents, in row-major order.
template <typename Visit>
void for_each_index(const Index& extents, const Visit& visit) {
  for (const int64_t extent : extents) {
    if (extent == 0) {
      return;
    }
  }
  Index index(extents.size(), 0);
  while (true) {
    visit(static_cast<const Index&>(index));
    size_t i = index.size();
    while (i > 0 && ++index[i - 1] == extents[i - 1]) {
      index[--i] = 0;
    }
    if (i == 0) {
      return;
    }
  }
}

// Part `which` of `parts` equal runs of a dimension; and runs joined again.
RefTensor cut(const RefTensor& x, int dim, int64_t parts, int64_t which);
RefTensor join_parts(const std::vector<RefTensor>& parts, int dim);

}  // namespace dfsim
