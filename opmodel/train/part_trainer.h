// PartTrainer: one part of a model from its samples: features, grouped split, trees, intervals.
//
// Samples are split by a hash of their shape, so that no shape is on both sides: 15 % test, 12 %
// validation, the rest trains. Rounds stop when validation error has not fallen for 60 rounds. Then
// trees fitted to training and validation rows with 1.1 times those rounds are evaluated on the
// test rows, once: that is the report's error. 80 % intervals come from residuals of validation
// rows, or of 5-fold cross-validation where those are few (intervals.h). Last the part is fitted to
// all rows. Same samples and seed: the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "opmodel/model/intervals.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/samples/training_data.h"
#include "opmodel/train/part_points.h"

namespace dfsim::inline opmodel {

struct FitOptions {
  uint64_t seed = 1;
  int max_rounds = 0;  // 0 = as suits the family
  // Learn for devices that were not measured: few rows of each, intervals and errors by leaving
  // whole devices out, each at the rates its data sheet suggests (TrainingData::estimated).
  bool prior = false;
  // Trees of the same part to go on from, UBJ; "" = from nothing.
  std::string continue_from;
};

struct FittedPart {
  ModelPart part;     // without file and checksum
  std::string trees;  // UBJ; "" when there were too few rows
  // Errors on operators in forms that the trees did not see (form_folds.h); of a prior none.
  std::vector<Residual> unseen_forms;
};

// `part` says class, kind, family, its features and timing, and what is known already when trees
// are continued; `samples` are indices of data.samples. Shapes measured more than once count once,
// with their median.
StatusOr<FittedPart> fit_part(ModelPart part, const TrainingData& data,
                              const std::vector<uint32_t>& samples, const FitOptions& options);

}  // namespace dfsim::inline opmodel
