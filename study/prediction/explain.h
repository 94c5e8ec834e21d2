// Explanations of a prediction: the decisions behind it, for a log.
#pragma once

#include "study/prediction/prediction.h"
#include "study/progress.h"

namespace dfsim::inline study {

// Reports through `progress` the import, the passes that changed the graph, the cost model of each
// device, and by device and class of operators how many times come from which source. Nothing when
// `progress` has no listener. O(operators).
void explain(const PredictionInput& input, const Prediction& prediction, const Progress& progress);

}  // namespace dfsim::inline study
