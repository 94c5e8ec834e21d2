// Train: profiles of measured operators in, a directory with a cost model out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "opmodel/train/training.h"
#include "study/progress.h"
#include "study/training/profile_inputs.h"

namespace dfsim::inline study {

struct TrainRequest {
  ProfileInputs inputs;
  std::string directory;              // of the model; "" = that of `extend`
  std::string name;                   // of the model; "" = the directory's
  std::string extend;                 // directory of a model to add the profiles to; "" = a new one
  std::vector<std::string> hardware;  // files of devices that the profiles name; and built-in ones
  std::vector<std::string> bare;      // hardware files from roofs alone, of the profiles' CPUs
  std::string overheads;              // JSON file: what measuring added, by device; "" = nothing
  uint64_t seed = 1;
  int threads = 0;  // 0 = as many as the machine has
  int rounds = 0;   // trees per part at most; 0 = as suits each class
  bool keep_lookup = true;
  std::vector<std::string> lookup_devices;  // whose measured times are kept; empty = all
  bool keep_rows = true;
  bool keep_drift = false;
  bool prior = false;  // learn for devices that were not measured
  bool compact = false;
  std::string dfsim_version;  // for the manifest
};

struct TrainResult {
  TrainReport report;
  LoadedProfiles loaded;
  std::string directory;
};

// Trains as opmodel/train/training.h says; notes each part when it is done. Errors: those of
// load_profiles(), train_model() and the hardware files; no directory; Progress's.
StatusOr<TrainResult> train(const TrainRequest& request, const Progress& progress = {});

}  // namespace dfsim::inline study
