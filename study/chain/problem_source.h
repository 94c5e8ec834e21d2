// Scheduling problems: task-graph files and models, on hardware files or
// identical processors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "opmodel/cost_model.h"
#include "schedulers/problem_instance.h"
#include "study/chain/model_source.h"

namespace dfsim::inline study {

// The parts of a problem other than its graph.
struct MachineChoice {
  std::string hardware;   // a hardware file or name; "" = identical processors
  size_t processors = 0;  // 0 = as the graph's file says
  double bytes_per_s = 125e6;
  std::string runtime;     // a runtime file or name; "" = the hardware's
  std::string cost_model;  // of ONNX models; "" = what each device names
  // Between a task graph's own devices or processors; none = as its file says.
  std::optional<TaskGraphLinks> links = std::nullopt;
};

struct LoadedProblem {
  ProblemInstance problem;
  UnknownWork unknown;  // of a model; a task graph is complete
};

// `path` is a task graph when its content looks like one, otherwise an ONNX model (whose `model`
// options apply, and which needs hardware). Errors name the file.
StatusOr<LoadedProblem> load_instance(const std::string& path, const ModelOptions& model,
                                      const MachineChoice& machine);

// A model with the machine and the operator times that make it a problem.
struct CostedModel {
  Platform platform;
  LoadedModel loaded;
  std::unique_ptr<CostModel> cost_model;

  // Errors: those of ModelRun::prepare().
  StatusOr<ProblemInstance> problem() const;
};

// Errors: no hardware is given; those of load_machine(), load_model() and load_cost_model_for().
StatusOr<CostedModel> load_costed_model(ModelOptions model, const std::string& path,
                                        const MachineChoice& machine);

}  // namespace dfsim::inline study
