// Advice on settings: what a prediction would gain from others.
#pragma once

#include <cstddef>
#include <functional>

#include "base/status.h"
#include "sim/repeat.h"
#include "study/prediction/predict_options.h"
#include "study/prediction/prediction.h"
#include "study/progress.h"

namespace dfsim::inline study {

// Runs with drawn times that a prediction takes to know its own spread.
inline constexpr size_t kAdviceRuns = 20;

// predict() of study/prediction/predict.h, which itself calls for advice.
using PredictFunction = std::function<StatusOr<Prediction>(const PredictOptions& options)>;

// Predicts the same model with other settings: precision, runtime, batch, threads, recomputation,
// policy. Fills prediction->advice with those that gain more than 80 % of repeated runs
// (`interval`) spread over and more than one percent, greatest gain first. Skips settings that the
// model or the machine does not allow. Errors: a built-in file of the machine cannot be read;
// Progress's.
Status advise_settings(const PredictOptions& options, const RepeatResult& interval,
                       const PredictFunction& predict, const Progress& progress,
                       Prediction* prediction);

}  // namespace dfsim::inline study
