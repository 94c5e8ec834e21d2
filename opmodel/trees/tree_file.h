// Files of the trees of a part, in either of two UBJSON layouts.
//
// XGBoost's own (what Booster::save() gives): 34 bytes a node, most of it statistics that only
// further training needs. The compact one (compact_trees.h), for models that ship: 2.5 bytes a
// node. Errors (kInvalidInput): bytes that are neither: truncated, another booster than gbtree,
// more than
//   one output, categorical splits, children out of range or in a cycle, leaves not finite.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "opmodel/trees/flat_trees.h"

namespace dfsim::inline opmodel {

// Either layout. `place` names the file in messages. O(bytes).
StatusOr<TreeFile> read_trees(std::string_view bytes, std::string_view place);

// XGBoost 1.7's layout, with the statistics it would need to prune set to 0: for training on.
std::string xgboost_trees(const TreeFile& trees);
// The same for bytes of either layout; XGBoost's own stay as they are. Errors: those of
// read_trees().
StatusOr<std::string> in_xgboost_layout(std::string bytes, std::string_view place);

}  // namespace dfsim::inline opmodel
