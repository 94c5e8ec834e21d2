// Tune: measures settings of ONNX Runtime on this machine, in the order that predictions suggest.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "study/chain/model_source.h"
#include "study/progress.h"
#include "study/tuning/tune_lines.h"
#include "study/tuning/tune_search.h"

namespace dfsim::inline study {

struct TuneOptions {
  ModelOptions model;
  std::string hardware;                  // file or name; "" = host.yaml in `directory`
  std::string directory = "dfsim-tune";  // where measurements and the environment are kept
  std::string python = "python3";
  bool no_install = false;  // `python` has ONNX Runtime
  std::string batches;      // "1,8" to choose among; "" = the model's
  int threads = 0;          // at most; 0 = as many as the machine has cores
  size_t budget = 12;       // measured settings
  double seconds = 2;       // per setting
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
  std::vector<TuneLine> lines;
};

// Keeps measurements in options.directory and reuses them for the same model on as many cores.
// Errors: kNotFound (model, hardware, Python), kInvalidInput (options, a state file that is none),
// kFailed (ONNX Runtime refuses the model); Progress's.
StatusOr<TuneResult> tune_on_host(const TuneOptions& options, const Progress& progress = {});

}  // namespace dfsim::inline study
