// PartPoint: what a part is fitted to, one distinct (op, device, recording) with the median of its
// times. Internal to opmodel/train.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "opmodel/model/model_manifest.h"
#include "opmodel/samples/training_data.h"

namespace dfsim::inline opmodel {

// The split: shapes at a position below kTestShare test, below kTestShare + kValidationShare
// validate, the rest trains. Products of matrices are placed by their weight, others by their
// shape.
inline constexpr double kTestShare = 0.15;
inline constexpr double kValidationShare = 0.12;
double split_position(const OpGeometry& geometry, uint64_t seed);

enum class Side : uint8_t { kTrain, kValidation, kTest };

struct PartPoint {
  uint32_t op = 0;
  uint32_t device = 0;
  uint32_t recording = 0;
  uint32_t row = 0;  // of the profile: the order of measurement within a recording
  double time_us = 0;
  double base_us = 0;
  Side side = Side::kTrain;
  size_t fold = 0;         // the same for all of a split group
  float weight = 1;        // in training
  float column = 0;        // ModelPart::recording_column
  bool throttled = false;  // of a recording that was set apart as too slow
  double log_ratio() const { return std::log(time_us / base_us); }
};

inline constexpr size_t kPartFolds = 5;
// Fewer distinct rows than this give a median, no trees.
inline constexpr size_t kMinRowsForTrees = 40;

// The points of a part from its samples. Fills the part's rows, devices, ranges and dtypes. A prior
// takes a share of the shapes of each device. O(n log n).
std::vector<PartPoint> part_points(const TrainingData& data, const std::vector<uint32_t>& samples,
                                   uint64_t seed, bool prior, double floor_quantile,
                                   ModelPart* part);

// Their operators, in their order.
std::vector<uint32_t> ops_of(const std::vector<PartPoint>& points);

// Adds to `effects` the mean of ln(time / base) of each kind among the training points, less that
// of all of them and adjusted towards 0 where its points are few. Kinds that are in `effects` keep
// their value. O(n log n).
void add_kind_effects(const TrainingData& data, const std::vector<PartPoint>& points,
                      std::vector<std::pair<std::string, double>>* effects);

// Nearest rank from below. `values` must not be empty. O(n).
double value_at_quantile(std::vector<double> values, double q);

}  // namespace dfsim::inline opmodel
