// TreeFile: the trees of a part as its file holds them, in either of two UBJSON layouts.
//
// XGBoost's own (what Booster::save() gives): 34 bytes a node, most of it statistics that only
// further training needs. The compact one (compact_trees.h), for models that ship: 3 bytes a node.
// Nodes stand breadth first with siblings side by side, so that the k-th split of a tree has its
// children at 1 + 2k and 2 + 2k, and no index needs to be kept.
// Invariants of a TreeFile that was read: every tree is one tree (each node but the first has one
//   parent, and follows it), features are below `columns`, thresholds are not NaN, leaves finite.
// Errors (kInvalidInput): bytes that are neither: truncated, another booster than gbtree, more than
//   one output, categorical splits, children out of range or in a cycle, leaves not finite.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline opmodel {

struct TreeFile {
  float base_score = 0;
  size_t columns = 0;
  std::vector<uint32_t> nodes;    // of each tree
  std::vector<int32_t> features;  // of each node, trees one after the other; -1 = leaf
  std::vector<float> values;
  std::vector<uint8_t> missing_left;  // 0 or 1, of each node
};

// Either layout. `place` names the file in messages. O(bytes).
StatusOr<TreeFile> read_trees(std::string_view bytes, std::string_view place);

// XGBoost 1.7's layout, with the statistics it would need to prune set to 0: for training on.
std::string xgboost_trees(const TreeFile& trees);

}  // namespace dfsim::inline opmodel
