// Advice for a model that does not fit its device: settings with which it would.
#pragma once

#include "base/status.h"
#include "study/prediction/predict_options.h"
#include "study/prediction/prediction.h"
#include "study/prediction/setting_advice.h"
#include "study/progress.h"

namespace dfsim::inline study {

// For a prediction that does not fit its device: fills prediction->remedies with
//   the largest of half, a quarter, … of the batch,
//   every precision of the machine that needs less memory,
//   the least recomputation, in training,
//   the fastest plan of tensor, pipeline or data parallelism on the machine itself when it has
//   several devices, else on the smallest built-in node where one fits, of the same devices first,
//   and the built-in machines with one device of the same type and the smallest memories,
// each of which makes the model fit, with its own prediction. Settings that the model or machine
// does not allow are left out. Takes up to about 20 predictions and 12 partitionings.
// Errors: Progress's; a built-in file cannot be read.
Status advise_fit(const PredictOptions& options, const PredictFunction& predict,
                  const Progress& progress, Prediction* prediction);

}  // namespace dfsim::inline study
