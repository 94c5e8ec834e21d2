// Recipes: how trees of each family are grown.
//
// Found on the public data sets (opmodel/pretrained/build_pretrained.sh trains on them) by the
// error on held-out shapes; docs/accuracy.md says what was tried.
#pragma once

#include <cstdint>

#include "opmodel/features/op_geometry.h"
#include "opmodel/trees/xgboost_adapter.h"

namespace dfsim::inline opmodel {

struct Recipe {
  int depth;
  double eta;
  double columns;         // share of the features each tree may use
  double least_weight;    // rows in a leaf
  int rounds;             // at most; fewer when the validation error stops falling
  double floor_quantile;  // of the times of a device: what nothing of this family takes less than
};

// `max_rounds` > 0 puts another limit to the rounds; where it is lower, steps get larger.
Recipe recipe_of(Family family, int max_rounds);

BoosterParams booster_params(const Recipe& recipe, uint64_t seed);

}  // namespace dfsim::inline opmodel
