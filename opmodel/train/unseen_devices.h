// Errors and intervals of a prior's part on devices that were not measured, found by leaving out
// each device that was. Internal to opmodel/train.
#pragma once

#include <functional>
#include <vector>

#include "base/status.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/samples/training_data.h"
#include "opmodel/train/part_points.h"
#include "opmodel/trees/forest.h"

namespace dfsim::inline opmodel {

// Trees fitted to these points, by index.
using FitToPoints = std::function<StatusOr<Forest>(const std::vector<size_t>&)>;

// Fills the part's `left_out`, `held_out` and `intervals`. A left-out device has the rates that its
// data sheet suggests (TrainingData::estimated) and the floor of the others. Where one device alone
// has the part's kind, shapes are left out in five folds, and the interval is twice as wide (in ln)
// as their errors. Fits as many forests as there are devices, or five.
Status measure_unseen_devices(const TrainingData& data, const std::vector<PartPoint>& points,
                              const FitToPoints& fit, ModelPart* part);

}  // namespace dfsim::inline opmodel
