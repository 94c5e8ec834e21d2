// Scheduling problems from the command line: task-graph files and models, on hardware files or
// identical processors.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/model_source.h"
#include "schedulers/problem_instance.h"

namespace dfsim::cli {

// What a problem is made of besides its graph.
struct MachineChoice {
  std::string hardware;   // a hardware file or name; "" = identical processors
  size_t processors = 0;  // 0 = as the graph's file says
  double bytes_per_s = 125e6;
  std::string runtime;     // a runtime file or name; "" = the hardware's
  std::string cost_model;  // of ONNX models; "" = what each device names
};

// Hardware by file or name, with another runtime unless `runtime` is empty.
StatusOr<Platform> load_machine(const std::string& hardware, const std::string& runtime);

// `path` is a task graph when its content looks like one, otherwise an ONNX model (whose `model`
// options apply, and which needs hardware). Errors name the file.
StatusOr<ProblemInstance> load_instance(const std::string& path, const ModelOptions& model,
                                        const MachineChoice& machine);

}  // namespace dfsim::cli
