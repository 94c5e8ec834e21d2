// The recipe by which trees of a family are grown (feature_family.h), under a limit of rounds, and
// in XGBoost's terms.
#pragma once

#include <cstdint>

#include "opmodel/features/feature_family.h"
#include "opmodel/trees/xgboost_adapter.h"

namespace dfsim::inline opmodel {

// `max_rounds` > 0 puts another limit to the rounds; where it is lower, steps get larger.
Recipe recipe_of(Family family, int max_rounds);

BoosterParams booster_params(const Recipe& recipe, uint64_t seed);

}  // namespace dfsim::inline opmodel
