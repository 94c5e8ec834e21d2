// Effects of instances: how an op's time in a network (instance_key.h) differs from other ops of
// its shape.
//
// Two ops of equal type and shape need not take equally long: what lies in the cache depends on the
// ops before. Where that lasts over batch sizes, it is worth knowing. How far it lasts is measured:
// with d = ln(time / median time of the shape) of an instance in two runs, the covariance of d over
// its variance says which share of d is no noise, and effects are shrunk by it (James and Stein's
// estimator in one-way random effects). No two runs of a network, or no covariance: no effects.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "opmodel/samples/training_data.h"

namespace dfsim::inline opmodel {

// Identity and natural logarithm of the factor of each instance that has one. O(n log n).
std::vector<std::pair<uint64_t, double>> instance_effects(const TrainingData& data);

}  // namespace dfsim::inline opmodel
