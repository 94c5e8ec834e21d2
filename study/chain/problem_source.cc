#include "study/chain/problem_source.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "graphs/taskgraph/task_graph.h"
#include "graphs/taskgraph/triplet_cluster.h"
#include "opmodel/model/model_loader.h"
#include "study/chain/machine_source.h"
#include "study/chain/model_run.h"

namespace dfsim::inline study {
namespace {

StatusOr<ProblemInstance> from_task_graph(const std::string& path, const MachineChoice& machine) {
  DFSIM_ASSIGN_OR_RETURN(TaskGraph task_graph, read_task_graph(path));
  if (machine.hardware.empty()) {
    return make_instance(std::move(task_graph),
                         TaskGraphMachine{machine.processors, machine.bytes_per_s, machine.links});
  }
  if (looks_like_triplet_cluster(machine.hardware)) {
    DFSIM_ASSIGN_OR_RETURN(const TripletCluster cluster, read_triplet_cluster(machine.hardware));
    return make_instance(std::move(task_graph), cluster, machine.links);
  }
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_machine(machine.hardware, machine.runtime));
  return make_instance(std::move(task_graph), std::move(platform));
}

}  // namespace

StatusOr<ProblemInstance> CostedModel::problem() const {
  DFSIM_ASSIGN_OR_RETURN(ModelRun run, ModelRun::prepare(loaded, platform, *cost_model));
  return std::move(run).into_problem(std::string(cost_model->name()));
}

StatusOr<CostedModel> load_costed_model(ModelOptions model, const std::string& path,
                                        const MachineChoice& machine) {
  if (machine.hardware.empty()) {
    return invalid_input(
        fmt::format("{}: no task graph (docs/reference/task-graphs.md), and a model needs hardware "
                    "to run on; say which with --hw FILE|NAME (dfsim hardware lists those that "
                    "dfsim knows)",
                    path));
  }
  model.path = path;
  CostedModel costed;
  DFSIM_ASSIGN_OR_RETURN(
      costed.platform,
      load_machine(machine.hardware, runtime_for(path, machine.runtime), model.precision));
  DFSIM_ASSIGN_OR_RETURN(costed.loaded, load_model(model, {}, costed.platform));
  DFSIM_ASSIGN_OR_RETURN(costed.cost_model,
                         load_cost_model_for(costed.platform, machine.cost_model));
  return costed;
}

StatusOr<LoadedProblem> load_instance(const std::string& path, const ModelOptions& model,
                                      const MachineChoice& machine) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return not_found(
        fmt::format("{}: no such file; expected a task graph or an ONNX model", printable(path)));
  }
  if (!looks_like_task_graph(path)) {
    DFSIM_ASSIGN_OR_RETURN(const CostedModel costed, load_costed_model(model, path, machine));
    DFSIM_ASSIGN_OR_RETURN(ProblemInstance problem, costed.problem());
    return LoadedProblem{std::move(problem), costed.loaded.unknown};
  }
  if (!model.precision.empty()) {
    return invalid_input(
        fmt::format("{}: found a task graph, whose tasks have no precision; leave --precision out",
                    printable(path)));
  }
  DFSIM_ASSIGN_OR_RETURN(ProblemInstance problem, from_task_graph(path, machine));
  return LoadedProblem{std::move(problem), {}};
}

}  // namespace dfsim::inline study
