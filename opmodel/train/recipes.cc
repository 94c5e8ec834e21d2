#include "opmodel/train/recipes.h"

#include <fmt/format.h>

#include <algorithm>

namespace dfsim::inline opmodel {

namespace {

constexpr double kMostEta = 0.2;

}  // namespace

Recipe recipe_of(Family family, int max_rounds) {
  Recipe recipe = feature_family(family).recipe;
  if (max_rounds > 0) {
    // Fewer trees have to take larger steps.
    const double fewer = std::max(1.0, static_cast<double>(recipe.rounds) / max_rounds);
    recipe.eta = std::min(std::max(kMostEta, recipe.eta), recipe.eta * fewer);
    recipe.rounds = std::min(recipe.rounds, max_rounds);
  }
  return recipe;
}

BoosterParams booster_params(const Recipe& recipe, uint64_t seed) {
  return {{"objective", "reg:squarederror"},
          {"eval_metric", "mae"},
          {"tree_method", "hist"},
          {"max_bin", "256"},
          {"subsample", "0.8"},
          {"nthread", "1"},
          {"max_depth", std::to_string(recipe.depth)},
          {"eta", fmt::format("{}", recipe.eta)},
          {"colsample_bytree", fmt::format("{}", recipe.columns)},
          {"min_child_weight", fmt::format("{}", recipe.least_weight)},
          {"seed", std::to_string(seed)}};
}

}  // namespace dfsim::inline opmodel
