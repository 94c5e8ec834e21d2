// Validator: predicts networks that were measured, for `dfsim validate` and `dfsim calibrate`.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/progress.h"
#include "report/validation.h"

namespace dfsim::cli {

struct ValidateOptions {
  std::string runs;
  std::string model;
  std::vector<std::string> hardware;
  std::vector<std::string> networks;  // folders
  std::vector<std::string> only;
  std::vector<std::string> leave_out;
  std::string profile;
  std::string runtime;
};

struct Validation {
  std::vector<ValidatedRun> runs;
  std::string cost_model;  // its name, or several
};

// The runs that the options choose, in the file's order. Errors: those of the runs file, of
// networks that are not found or cannot be imported, of devices that no hardware file describes.
StatusOr<Validation> validate_runs(const ValidateOptions& options, Progress& progress);

}  // namespace dfsim::cli
