// A Python with ONNX Runtime, for commands that measure on this machine.
#pragma once

#include <string>

#include "base/status.h"
#include "study/progress.h"

namespace dfsim::inline study {

struct OrtEnvironmentOptions {
  std::string directory;           // where an environment of its own is made, once
  std::string python = "python3";  // to make it with, or to use as it is
  bool no_install = false;         // use `python` as it is
};

// The Python to run. Makes DIRECTORY/venv and installs datasets/collect/ort_cpu/requirements.txt
// there unless that is done already or not wanted. Errors: run_program()'s and Progress's.
StatusOr<std::string> ort_environment(const OrtEnvironmentOptions& options,
                                      const Progress& progress);

}  // namespace dfsim::inline study
