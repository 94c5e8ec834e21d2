// Validate: predicts networks whose latencies were measured, by the chain that `dfsim predict` runs
// (study/chain/model_run.h), and compares.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "study/progress.h"
#include "study/validation/validation.h"

namespace dfsim::inline study {

struct ValidateOptions {
  std::string runs;                   // file of measured networks (datasets/profiles/runs.h)
  std::string model;                  // cost model: folder or name; "" = what each device names
  std::vector<std::string> hardware;  // files or names; empty = the built-in ones
  std::vector<std::string> networks;  // folders of ONNX files; empty = those that ship
  std::vector<std::string> only;      // networks; empty = all
  std::vector<std::string> leave_out;
  std::string profile;    // of the operators that ran; "" = not known
  std::string runtime;    // file or name; "" = what the hardware files name
  std::string precision;  // name or file; "" = 16 bits or TF32 where a run was in it
};

struct Validation {
  std::vector<ValidatedRun> runs;
  std::string cost_model;  // its name, or several
};

// The runs that the options choose, in the file's order. Errors: those of the runs file, of
// networks that are not found or cannot be imported, of devices that no hardware file describes,
// Progress's.
StatusOr<Validation> validate_runs(const ValidateOptions& options, const Progress& progress = {});

}  // namespace dfsim::inline study
