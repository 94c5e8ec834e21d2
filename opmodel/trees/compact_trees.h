// The compact layout of a part's trees, for models that ship: 2.5 bytes a node instead of the 34 of
// XGBoost's layout.
//
// It is one UBJSON object of
//   format        "dfsim-trees/3"
//   base_score    number
//   columns       number of features
//   nodes         [number of nodes of each tree]
//   inner         one bit a node, all trees in a row, the lowest first: the node is a split
//   features      [for each split, the index of its feature]
//   counts        [number of different thresholds of each feature]
//   thresholds    [those of each feature, rising], features one after the other
//   splits        [for each split, which of its feature's thresholds it has]
//   missing_left  one bit a split, the lowest first: rows without the feature go left
//   leaf_exponent number
//   leaves        [for each leaf, its value / 2^leaf_exponent], 16 bits
// Nodes stand breadth first with siblings side by side, so that the k-th split of a tree has its
// children at 1 + 2k and 2 + 2k, and no index needs to be kept.
// Splits are exact: XGBoost's histograms have at most 256 thresholds for a feature. Each leaf
// is off by at most 1/32767 of the largest one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opmodel/trees/flat_trees.h"
#include "opmodel/trees/ubjson.h"

namespace dfsim::inline opmodel {

// Collects the members of the layout as a reader comes by them, in any order.
class CompactTrees {
 public:
  // Reads the value of `key`; false, and nothing read, when the layout has no such member.
  bool read_member(std::string_view key, UbjsonReader* reader);
  // `format` was there, and right.
  bool found() const { return found_; }
  // Into the arrays of a TreeFile; a reason when they do not fit each other, else nullptr.
  const char* unpack(TreeFile* trees) const;

 private:
  bool is_split(size_t node) const;
  bool has_whole_trees(size_t nodes) const;

  bool found_ = false;
  std::vector<float> base_score_;
  std::vector<int32_t> columns_;
  std::vector<int32_t> nodes_;
  std::vector<int32_t> inner_;
  std::vector<int32_t> features_;
  std::vector<int32_t> counts_;
  std::vector<float> thresholds_;
  std::vector<int32_t> splits_;
  std::vector<int32_t> missing_left_;
  std::vector<int32_t> leaf_exponent_;
  std::vector<int32_t> leaves_;
};

// Rounds leaves. Writing what was read gives the same bytes again. `trees` is one that
// read_trees() gave.
std::string compact_trees(const TreeFile& trees);
// The bytes are of the compact layout.
bool are_compact_trees(std::string_view bytes);

}  // namespace dfsim::inline opmodel
