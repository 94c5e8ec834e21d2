// Recorders of runs: how a caller watches the simulations of a study, for example to write a trace.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "graphs/ir/graph.h"
#include "hardware/platform.h"
#include "opmodel/workload.h"
#include "sim/listener.h"

namespace dfsim::inline study {

// A run that is about to begin. References are valid until the recorder is closed or destroyed.
struct RunSubject {
  const ExecGraph& tasks;
  const Platform& platform;
  // For names, classes and shapes; null for task graphs.
  const Graph* graph = nullptr;
  const Workload* workload = nullptr;
  const CostTable* costs = nullptr;
  // Where policies are compared: names of the graph, the machine and the policy.
  std::string graph_name = {};
  std::string machine_name = {};
  std::string policy = {};
};

// Records one run. One that is destroyed without close() belongs to a run that failed.
class RunRecorder {
 public:
  virtual ~RunRecorder() = default;

  // Lives as long as the recorder.
  virtual SimListener* listener() = 0;
  // After the run.
  virtual Status close() = 0;
};

// Makes the recorder of a run; an error ends the study. An empty function records nothing.
using MakeRecorder = std::function<StatusOr<std::unique_ptr<RunRecorder>>(const RunSubject&)>;

}  // namespace dfsim::inline study
