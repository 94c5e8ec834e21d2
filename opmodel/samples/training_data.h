// TrainingData: the rows of profiles as samples to train on or to evaluate on.
//
// Each distinct op is kept once. Rows that cannot be right (faster than half of their bound, see
// row_bounds.h) are left out and reported.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "datasets/profiles/profile.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

struct Sample {
  uint32_t op = 0;      // index into ops and geometries
  uint32_t device = 0;  // index into devices
  TimingKind timing = TimingKind::kUnknown;
  double time_us = 0;
  uint32_t row = 0;       // of the profile
  uint32_t network = 0;   // index into networks; 0 = none
  uint64_t instance = 0;  // identity in its network (instance_key.h); 0 = none
  int32_t batch = 0;
  int32_t count = 1;
  uint32_t recording = 0;  // index into recordings
  // The rest of the profile speaks against it (contradictions.h): it answers for its own shape
  // only.
  bool contradicts = false;
};

struct TrainingData {
  std::vector<OpDescriptor> ops;
  std::vector<OpGeometry> geometries;  // of each op
  std::vector<DeviceSpec> devices;     // `model` is the name in the profile
  // Of each device, its data sheet alone; only for priors, whose `devices` have sustained rates.
  std::vector<DeviceSpec> estimated;
  std::vector<std::string> networks = {""};
  std::vector<std::string> recordings;  // where rows come from (ProfileRow::provenance)
  std::vector<Sample> samples;
  DropReport drops;  // kImpossible only; rows by their number in the file they came from
  // Devices without a hardware file, whose peaks were estimated from their rows.
  std::vector<std::string> estimated_devices;
};

struct TrainingDataOptions {
  // Hardware file that stands for every device of the profiles; "" = by the device's own name.
  std::string device;
  // Known devices, taken before any hardware file (those of a trained model).
  std::vector<DeviceSpec> known_devices;
};

// Error: kNotFound for an unknown `options.device`.
StatusOr<TrainingData> make_training_data(const Profile& profile,
                                          const TrainingDataOptions& options);

}  // namespace dfsim::inline opmodel
