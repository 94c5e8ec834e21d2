// A lookup table's time for a measured shape: the median of its times, or, where measuring it again
// gives something else, the median adjusted towards the trees.
//
// Measurements of one shape on a busy machine may be further apart than the trees are wrong. The
// best guess of a normal variable from n measurements with noise s and an opinion with error t
// (James and Stein 1961) has the weight t^2 / (t^2 + s^2 / n) on the measurements, here of
// logarithms. s comes from the shapes that were measured more than once, t^2 is what the trees'
// error on held-out shapes has beyond s^2. Where fewer than kMinRepeatedShapes were repeated
// nothing is known of s, and the median stays.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "opmodel/model/trained_model.h"
#include "opmodel/samples/training_data.h"

namespace dfsim::inline opmodel {

inline constexpr size_t kMinRepeatedShapes = 100;

// Weight of the median of `n` measurements with noise `noise` (standard deviation of logarithms)
// against an opinion whose error on such measurements is `error`. In [0, 1]; 1 without noise.
double weight_of_measurements(double noise, double error, size_t n);

// The noise of single measurements, standard deviation of logarithms, by the median difference of
// repeated ones; 0 when fewer than kMinRepeatedShapes of `repeats` have more than one time.
double noise_of(const std::vector<std::vector<double>>& repeats);

// 80 % of single measurements lie between these factors of their shape's median; none where fewer
// than 100 measurements are of shapes that were measured three times or more.
std::optional<std::pair<double, double>> repeat_factors(
    const std::map<uint64_t, std::vector<double>>& repeats);

// Keys (lookup_key) and times in us of all measured shapes of `data`, ascending by key. `model` has
// the trees that were fitted to `data`. O(samples log samples) and one prediction a shape.
StatusOr<std::vector<std::pair<uint64_t, float>>> measured_times(const TrainingData& data,
                                                                 const TrainedModel& model);

}  // namespace dfsim::inline opmodel
