// PartModel: one part of a trained model, ready to predict: its manifest entry and its trees.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware/platform.h"
#include "opmodel/features/features.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/trees/forest.h"

namespace dfsim::inline opmodel {

// One op to predict; `geometry` is that of `op`.
struct PartQuery {
  const OpDescriptor* op = nullptr;
  const OpGeometry* geometry = nullptr;
  float recording = 0;  // ModelPart::recording_column; 0 = a healthy board
};

struct PartAnswer {
  double time_us = 0;  // as the part's kind of timing measures it
  double low_us = 0;
  double high_us = 0;
  double base_us = 0;
  bool extrapolated = false;  // outside of what the part was trained on
  bool unseen_form = false;   // because no row had this kind or form of operator
};

// Number of columns of the part's feature matrix: the family's features, then the kind's effect for
// parts of any kind, then the recording where a part has that column.
size_t part_columns(const ModelPart& part);

// Whether this version of dfsim computes all features that the part was trained with.
bool has_known_features(const ModelPart& part);
// Fills one row of it.
void fill_part_row(const ModelPart& part, const PartQuery& query, const DeviceSpec& device,
                   const Roofline& roofline, std::span<float> row);
// Rate of one compute unit in 16-bit products.
double unit_flops_per_s(const DeviceSpec& device);
// The floor of this part on a device: as measured there, or guessed from the other devices.
double part_floor_us(const ModelPart& part, const DeviceSpec& device);
// The roofline that the part's ratios stand on: a prior's also knows the slowest compute unit.
Roofline part_roofline(const ModelPart& part, const OpGeometry& geometry, const DeviceSpec& device,
                       double floor_us);
// The op lies outside of the part's ranges, dtypes or devices.
bool leaves_training_ground(const ModelPart& part, const OpGeometry& geometry,
                            const DeviceSpec& device);
// The part was trained on this dtype, or on one of the same width.
bool dtype_known(const ModelPart& part, DType dtype);
// The factors of the 80 % interval at a predicted time.
std::pair<double, double> interval_at(const IntervalTable& table, double time_us);
// The same with logarithms of the factors times `scale` (PartDevice::interval_scale).
std::pair<double, double> scaled_interval_at(const IntervalTable& table, double scale,
                                             double time_us);

// Predicts a batch of ops of the part's class and family. `forest` may be null (median only). With
// `across_devices` an unknown device is what the part is for, and another dtype's trees answer for
// one that is unknown: its bytes and rates are in the features.
std::vector<PartAnswer> predict_part(const ModelPart& part, const Forest* forest,
                                     std::span<const PartQuery> queries, const DeviceSpec& device,
                                     bool across_devices = false);

}  // namespace dfsim::inline opmodel
