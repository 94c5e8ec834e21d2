// Prediction with all trees over a batch of rows, several rows in step through one tree: the
// loads of one row hide the latency of the others.
#include "opmodel/trees/forest.h"

#include <algorithm>
#include <array>
#include <limits>

#include "opmodel/trees/tree_file.h"

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kLanes = 8;  // rows that walk a tree together

}  // namespace

StatusOr<Forest> Forest::parse(std::string_view bytes, std::string_view place) {
  DFSIM_ASSIGN_OR_RETURN(const TreeFile trees, read_trees(bytes, place));
  Forest forest;
  forest.base_score_ = trees.base_score;
  forest.columns_ = trees.columns;
  forest.nodes_.reserve(trees.features.size());
  std::vector<int32_t> levels;
  uint32_t root = 0;
  for (const uint32_t count : trees.nodes) {
    levels.assign(count, 0);
    uint32_t child = 1;
    int32_t depth = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const size_t at = size_t{root} + i;
      depth = std::max(depth, levels[i]);
      if (trees.features[at] < 0) {
        forest.nodes_.push_back(
            {std::numeric_limits<float>::infinity(), trees.values[at], root + i, 0, 1});
        continue;
      }
      forest.nodes_.push_back({trees.values[at], 0, root + child,
                               static_cast<uint16_t>(trees.features[at]), trees.missing_left[at]});
      levels[child] = levels[i] + 1;
      levels[child + 1] = levels[i] + 1;
      child += 2;
    }
    forest.roots_.push_back({root, depth});
    root += count;
  }
  return forest;
}

void Forest::predict(std::span<const float> values, std::span<float> out) const {
  const Node* const nodes = nodes_.data();
  for (size_t first = 0; first < out.size(); first += kLanes) {
    // Lanes beyond the last row repeat it and are thrown away.
    std::array<const float*, kLanes> rows;
    std::array<float, kLanes> sums;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      rows[lane] = values.data() + std::min(first + lane, out.size() - 1) * columns_;
    }
    sums.fill(base_score_);
    for (const Root& root : roots_) {
      std::array<uint32_t, kLanes> at;
      at.fill(root.node);
      for (int level = 0; level < root.depth; ++level) {
        for (size_t lane = 0; lane < kLanes; ++lane) {
          const Node& node = nodes[at[lane]];
          const float x = rows[lane][node.feature];
          // The two comparisons differ only for NaN, which compares false with everything.
          const bool right = node.missing_left != 0 ? x >= node.threshold : !(x < node.threshold);
          at[lane] = node.left + (right ? 1U : 0U);
        }
      }
      for (size_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] += nodes[at[lane]].leaf;
      }
    }
    for (size_t lane = 0; lane < kLanes && first + lane < out.size(); ++lane) {
      out[first + lane] = sums[lane];
    }
  }
}

}  // namespace dfsim::inline opmodel
