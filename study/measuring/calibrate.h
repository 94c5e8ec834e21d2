// Calibrate: a hardware file and a cost model of the machine that this runs on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "opmodel/train/error_stats.h"
#include "study/measuring/cpu_identity.h"
#include "study/measuring/roofs.h"
#include "study/progress.h"
#include "study/validation/validation.h"

namespace dfsim::inline study {

struct CalibrateOptions {
  double minutes = 10;    // of measuring
  std::string directory;  // of the results; a stopped calibration resumes from it
  std::string python = "python3";
  // ONNX files whose operators are to be measured, as the files are and with their dimensions
  // frozen, in place of networks of the zoo; what is left of the minutes goes to samples.
  std::vector<std::string> cover;
  std::vector<std::string> dims;     // "sequence=128", of the networks
  std::vector<std::string> batches;  // of the networks; empty = 1
  int threads = 0;                   // at most; 0 = as many as the machine has
  // A measured CPU that ships ("epyc-genoa"), whose operators the model learns as well; "" = none.
  std::string like;
  bool no_install = false;    // `python` has what the collector needs
  std::string dfsim_version;  // for the model's manifest
  // "measure": roofs first, then everything else; "skip"; "only": roofs alone, without Python.
  std::string roofs = "measure";
};

struct Calibration {
  std::vector<HostRoofs> roofs;       // per number of threads, fewest first
  std::string roofs_file;             // "" = not measured
  std::string no_roofs;               // why not; "" = measured or not wanted
  std::vector<std::string> hardware;  // files; the last one has most threads
  std::string model;                  // "" = roofs alone were measured
  NearestCpu nearest;                 // whose model the files from roofs alone name
  int64_t rows = 0;                   // of this machine
  std::string like;                   // as in the options
  ErrorStats held_out;  // by this machine's rows alone: over all parts, each weighed by its rows
  ValidationSummary networks;
  std::string not_fitted;  // why the intervals of networks were not fitted to them; "" = they were
};

// Measures the roofs and, unless they alone are wanted, measures with ONNX Runtime, trains,
// validates on the measured networks and fits the intervals of networks to them. Errors: those of
// the collector, of train_model() and of the files it writes; Progress's; kInvalidInput for models
// or another CPU's operators where roofs alone are wanted. Networks that cannot be validated are
// reported in `not_fitted`; so is, in `no_roofs`, a processor that the roofs' kernels do not fit,
// which is an error only if roofs alone are wanted.
StatusOr<Calibration> calibrate(const CalibrateOptions& options, const Progress& progress = {});

}  // namespace dfsim::inline study
