// Training: profiles in, a directory with a trained model out (`dfsim train`).
//
// One part per kind of op with enough rows, one per class for the rest (see model_manifest.h).
// Parts are fitted in parallel, each in one thread, so that the same rows and seed give the same
// files on any machine. Nothing of the profiles is kept but the times of exact shapes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "datasets/profiles/profile.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/samples/contradictions.h"
#include "opmodel/samples/overheads.h"

namespace dfsim::inline opmodel {

struct TrainOptions {
  std::string name;  // of the model; "" = the directory's
  std::string dfsim_version;
  std::string device;                     // hardware file for all rows; "" = each row's own device
  std::string extend;                     // directory of a model to add to; "" = a new one
  std::vector<DeviceSpec> known_devices;  // taken before any hardware file
  std::vector<DeviceSpec> bare_devices;   // of the profiles, as ModelManifest has them
  Overheads overheads;                    // what measuring added, by device (overheads.h)
  uint64_t seed = 1;
  int threads = 2;
  int max_rounds = 0;  // 0 = as suits each class
  bool keep_lookup = true;
  // The model keeps measured times of these devices, by their models; empty = of all. The rows of
  // others teach the trees alone.
  std::vector<std::string> lookup_devices;
  bool prior = false;       // learn for devices that were not measured (PartTrainer's FitOptions)
  bool keep_drift = false;  // train on times as they are, drift or not (drift.h)
  bool keep_rows = true;
  bool compact = false;             // trees in the compact layout (tree_file.h)
  std::vector<DataSource> sources;  // for the manifest
};

struct PartProgress {
  const ModelPart* part = nullptr;
  size_t done = 0;
  size_t total = 0;
  double seconds = 0;
};

struct TrainReport {
  ModelManifest manifest;
  std::vector<double> part_seconds;  // of the processor, by part; 0 = copied unchanged
  bool continued = false;            // old trees were kept and added to, as the old rows are gone
  std::vector<std::string> estimated_devices;
  double seconds = 0;
  DropReport drops;                              // rows faster than half of their bound
  std::vector<ContradictingRow> contradictions;  // the farthest off first
};

// `progress` (may be empty) is called after each part, from several threads but one at a time.
// Errors: kInvalidInput (no usable rows, a damaged model to extend), kNotFound, kFailed.
StatusOr<TrainReport> train_model(const Profile& profile, const TrainOptions& options,
                                  const std::string& directory,
                                  const std::function<void(const PartProgress&)>& progress);

}  // namespace dfsim::inline opmodel
