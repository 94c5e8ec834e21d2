// Instances: ops of a network told apart by name and order, so that the same one is found again in
// a run with another batch size.
//
// Two ops of equal type and shape need not take equally long: what lies in the cache depends on the
// ops before. Where that lasts over batch sizes, it is worth knowing. How far it lasts is measured:
// with d = ln(time / median time of the shape) of an instance in two runs, the covariance of d over
// its variance says which share of d is no noise, and effects are shrunk by it (James and Stein's
// estimator in one-way random effects). No two runs of a network, or no covariance: no effects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opmodel/train/training_data.h"

namespace dfsim::inline opmodel {

// A name without what the compiler numbers anew in each run: "-op123" at its end, and digits of its
// last component. "Default/layer1/Conv2D-op17" -> "Default/layer1/ConvD".
std::string lasting_name(std::string_view name);

// Identity of the `occurrence`th op of that name in a network, never 0.
uint64_t instance_key(std::string_view device_model, std::string_view network,
                      std::string_view name, int64_t occurrence);

// Identity and natural logarithm of the factor of each instance that has one. O(n log n).
std::vector<std::pair<uint64_t, double>> instance_effects(const TrainingData& data);

}  // namespace dfsim::inline opmodel
