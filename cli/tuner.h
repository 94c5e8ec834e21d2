// Measures settings of ONNX Runtime on this machine, in the order that predictions suggest.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/model_source.h"
#include "report/roofline.h"
#include "report/tuning.h"

namespace dfsim::cli {

struct TuneOptions {
  ModelOptions model;
  bool host = false;
  std::string hardware;
  std::string directory = "dfsim-tune";
  std::string python = "python3";
  bool no_install = false;
  std::string batches;
  int threads = 0;
  size_t budget = 12;
  double seconds = 2;
  bool json = false;
  std::string output = "-";
};

// Times of one setting in one interleaved run, per run of the model.
struct TuneTiming {
  double median_ms = 0;
  double low_ms = 0;  // 10th and 90th percentile
  double high_ms = 0;
  size_t runs = 0;
};

struct TuneResult {
  std::vector<TuneCandidate> candidates;
  size_t best = 0;
  size_t measured = 0;
  TuneTiming default_time;
  TuneTiming best_time;
  double ratio = 1;  // of throughput: best over default
  std::string runtime_version;
  std::vector<Trajectory> lines;  // over threads, at the best's batch
};

nlohmann::ordered_json tune_setting_json(const TuneSetting& setting);

// Progress goes to stderr. What was measured is kept in options.directory, for the same model and
// as many cores, and not measured again. Errors: kNotFound (model, hardware, Python), kInvalidInput
// (options, a state file that is none), kFailed (ONNX Runtime refuses the model).
StatusOr<TuneResult> tune_on_host(const TuneOptions& options, bool quiet);

}  // namespace dfsim::cli
