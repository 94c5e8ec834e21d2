// The fixed parameters of trees for residuals, and their way from XGBoost's bytes to a Forest.
#include "opmodel/trees/residual_trees.h"

#include <string>

#include "opmodel/trees/xgboost_adapter.h"

namespace dfsim::inline opmodel {

StatusOr<Forest> fit_residual_trees(const ResidualTreesInput& input) {
  DFSIM_ASSIGN_OR_RETURN(
      const TrainingMatrix matrix,
      TrainingMatrix::create(
          {.values = input.values, .columns = input.columns, .labels = input.labels, .weights = {}},
          1));
  const TrainingMatrix* const matrices[] = {&matrix};
  DFSIM_ASSIGN_OR_RETURN(Booster booster, Booster::create({{"objective", "reg:squarederror"},
                                                           {"tree_method", "hist"},
                                                           {"subsample", "0.8"},
                                                           {"colsample_bytree", "0.5"},
                                                           {"max_depth", "6"},
                                                           {"eta", "0.1"},
                                                           {"nthread", "1"},
                                                           {"seed", std::to_string(input.seed)},
                                                           {"base_score", "0"}},
                                                          matrices));
  for (int round = 0; round < input.rounds; ++round) {
    DFSIM_RETURN_IF_ERROR(booster.update(round, matrix));
  }
  DFSIM_ASSIGN_OR_RETURN(const std::string bytes, booster.save());
  return Forest::parse(bytes, "trees for residuals");
}

}  // namespace dfsim::inline opmodel
