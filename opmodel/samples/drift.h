// Drift: measurements that grow with the order in which they were taken, and how to take that off.
//
// NeuSight's convolutions do: on all five GPUs the same tiny op takes 0.06-0.1 ms at the start of
// the recording and 0.3-0.8 ms at its end. What grows is additive and the same for short and long
// ops (a host that slows down), so it is no property of a shape. It is estimated as a piecewise
// linear function c(u) of the row's rank u in [0, 1) among the device's rows, c(0) = 0, never
// falling below 0, by turns with trees that predict the rest from shapes they were not trained on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/samples/training_data.h"

namespace dfsim::inline opmodel {

// A piecewise linear function with knots at 0, 1/4, 1/2 and 3/4, zero at 0.
struct DriftCurve {
  double slopes[4] = {0, 0, 0, 0};
  double at(double u) const;
};

// Least weighted absolute deviations of `residuals` at `ranks` (iteratively reweighted squares).
DriftCurve fit_drift_curve(std::span<const double> ranks, std::span<const double> residuals,
                           std::span<const double> weights);

// The times of short ops grow with their rank: Pearson's correlation over those whose bound is
// below its 12 % quantile is above 0.5. `base_us` are bounds, all in the order of measurement.
bool looks_drifting(std::span<const double> times_us, std::span<const double> base_us);

struct DriftReport {
  std::string device;
  double end_us = 0;  // c(1)
};

// Takes the drift off data.samples[i].time_us for i in `samples` (one part), for each device whose
// rows look drifting, and by more than the floor in the end; gives those devices. Test rows (of the
// split by `seed`) are not looked at.
StatusOr<std::vector<DriftReport>> remove_drift(const ModelPart& part,
                                                const std::vector<uint32_t>& samples, uint64_t seed,
                                                TrainingData* data);

}  // namespace dfsim::inline opmodel
