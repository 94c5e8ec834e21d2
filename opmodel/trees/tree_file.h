// TreeFile: the trees of a part as its file holds them, in either of two UBJSON layouts.
//
// XGBoost's own (what Booster::save() gives): 34 bytes a node, most of it statistics that only
// further training needs. The compact one, for models that ship: 5 bytes a node. It is one object
// of
//   format       "dfsim-trees/1"
//   base_score   number
//   columns      number of features
//   nodes        [number of nodes of each tree]
//   features     [1 + index of the feature a node splits by, 0 = leaf], all trees in a row
//   values       [threshold of a split, or value of a leaf], float
//   missing_left one bit a node, the lowest first: rows without the feature go left
// Nodes stand breadth first with siblings side by side, so that the k-th split of a tree has its
// children at 1 + 2k and 2 + 2k, and no index needs to be kept.
// Invariants of a TreeFile that was read: every tree is one tree (each node but the first has one
//   parent, and stands behind it), features are below `columns`, thresholds are not NaN.
// Errors (kInvalidInput): bytes that are neither: truncated, another booster than gbtree, more than
//   one output, categorical splits, children out of range or in a cycle.
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

// The compact layout. Reading it back gives the same TreeFile.
std::string compact_trees(const TreeFile& trees);
// The bytes are of the compact layout.
bool are_compact_trees(std::string_view bytes);

// XGBoost 1.7's layout, with the statistics it would need to prune set to 0: for training on.
std::string xgboost_trees(const TreeFile& trees);

}  // namespace dfsim::inline opmodel
