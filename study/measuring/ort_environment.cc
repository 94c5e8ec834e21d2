#include "study/measuring/ort_environment.h"

#include <filesystem>

#include "base/io/data_dir.h"
#include "base/io/file.h"
#include "study/measuring/child_process.h"

namespace dfsim::inline study {

StatusOr<std::string> ort_environment(const OrtEnvironmentOptions& options,
                                      const Progress& progress) {
  if (options.no_install) {
    return options.python;
  }
  const auto in = [&options](const char* name) {
    return (std::filesystem::path(options.directory) / name).string();
  };
  const std::string ready = in("venv/ready");
  std::string python = in("venv/bin/python");
  std::error_code error;
  if (std::filesystem::exists(ready, error)) {
    return python;
  }
  DFSIM_RETURN_IF_ERROR(progress.stage("making a Python environment with ONNX Runtime"));
  progress.note("making a Python environment with ONNX Runtime");
  DFSIM_ASSIGN_OR_RETURN(const std::string needed,
                         find_data_file("datasets/collect/ort_cpu/requirements.txt"));
  DFSIM_RETURN_IF_ERROR(run_program({options.python, "-m", "venv", in("venv")},
                                    "making a Python environment (give a Python 3.10 or newer "
                                    "with --python)"));
  DFSIM_RETURN_IF_ERROR(run_program(
      {python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", needed},
      "installing the collector's packages (without a network: install them yourself and give "
      "that Python with --python and --no-install)"));
  DFSIM_RETURN_IF_ERROR(write_file(ready, ""));
  return python;
}

}  // namespace dfsim::inline study
