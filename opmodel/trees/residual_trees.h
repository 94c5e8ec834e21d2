// Small trees for steps of training that compare recordings: they are fitted, asked once, and
// thrown away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "opmodel/trees/forest.h"

namespace dfsim::inline opmodel {

// Rows of `columns` features each in `values`, row by row, and a label (ln time / bound) per row.
struct ResidualTreesInput {
  std::span<const float> values;
  size_t columns = 0;
  std::span<const float> labels;
  int rounds = 0;
  uint64_t seed = 0;
};

// Trees of moderate depth with few columns each, so that a drift or a slow board, which no column
// shows, stays in the residuals. The same input gives the same trees. Errors: those of XGBoost.
// O(rounds * rows * columns).
StatusOr<Forest> fit_residual_trees(const ResidualTreesInput& input);

}  // namespace dfsim::inline opmodel
