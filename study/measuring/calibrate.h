// Calibrate: a hardware file and a cost model of the machine that this runs on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "opmodel/train/error_stats.h"
#include "study/progress.h"
#include "study/validation/validation.h"

namespace dfsim::inline study {

struct CalibrateOptions {
  double minutes = 10;    // of measuring
  std::string directory;  // of the results; a calibration that was stopped goes on there
  std::string python = "python3";
  int threads = 0;            // at most; 0 = as many as the machine has
  bool no_install = false;    // `python` has what the collector needs
  std::string dfsim_version;  // for the model's manifest
};

struct Calibration {
  std::vector<std::string> hardware;  // files; the last one has most threads
  std::string model;
  int64_t rows = 0;
  ErrorStats held_out;  // over all parts, each weighed by its rows
  ValidationSummary networks;
  std::string not_fitted;  // why the intervals of networks were not fitted to them; "" = they were
};

// Measures with ONNX Runtime, trains, validates on the measured networks and fits the intervals of
// networks to them. Errors: those of the collector, of train_model() and of the files it writes;
// Progress's. Networks that cannot be validated are reported in `not_fitted`.
StatusOr<Calibration> calibrate(const CalibrateOptions& options, const Progress& progress = {});

}  // namespace dfsim::inline study
