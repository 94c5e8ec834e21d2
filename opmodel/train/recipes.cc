#include "opmodel/train/recipes.h"

#include <fmt/format.h>

#include <algorithm>

namespace dfsim::inline opmodel {

namespace {

constexpr double kMostEta = 0.2;

Recipe recipe_of(Family family) {
  switch (family) {
    case Family::kGemm:
      return {6, 0.04, 0.5, 3, 1800, 0.002};
    case Family::kConv:
      return {6, 0.05, 0.5, 2, 1000, 0.002};
    case Family::kAttention:
      return {7, 0.1, 0.6, 3, 600, 0.002};
    case Family::kRows:
      return {5, 0.08, 0.6, 2, 400, 0.02};
    case Family::kGeneric:
      return {6, 0.06, 0.5, 2, 400, 0.01};
  }
  return {6, 0.08, 0.5, 3, 400, 0.01};
}

}  // namespace

Recipe recipe_of(Family family, int max_rounds) {
  Recipe recipe = recipe_of(family);
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
