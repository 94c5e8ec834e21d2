// TreeFile: the trees of a part in flat arrays, as a file of them was read.
//
// Nodes stand breadth first with siblings side by side, so that the k-th split of a tree has its
// children at 1 + 2k and 2 + 2k, and no index needs to be kept.
// Invariants of a TreeFile that was read: every tree is one tree (each node but the first has one
//   parent, and follows it), features are below `columns`, thresholds are not NaN, leaves finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dfsim::inline opmodel {

struct TreeFile {
  float base_score = 0;
  size_t columns = 0;
  std::vector<uint32_t> nodes;    // of each tree
  std::vector<int32_t> features;  // of each node, trees one after the other; -1 = leaf
  std::vector<float> values;
  std::vector<uint8_t> missing_left;  // 0 or 1, of each node
};

}  // namespace dfsim::inline opmodel
