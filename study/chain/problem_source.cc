#include "study/chain/problem_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

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

// Options that a task graph would silently leave out.
Status check_options_of_task_graph(const std::string& path, const ModelOptions& model,
                                   const MachineChoice& machine) {
  const std::pair<std::string_view, bool> given[] = {
      {"--precision", !model.precision.empty()},
      {"--batch", model.batch != 0},
      {"--dim", !model.dims.empty()},
      {"--input-shape", !model.input_shapes.empty()},
      {"--trip-count", !model.trip_counts.empty()},
      {"--branch", !model.branch.empty()},
      {"--signature", !model.signature.empty()},
      {"--static", model.static_dims},
      {"--cost-model", !machine.cost_model.empty()},
      {"--runtime", !machine.runtime.empty() && machine.hardware.empty()},
  };
  for (const auto& [option, is_given] : given) {
    if (is_given) {
      return invalid_input(
          fmt::format("{}: found a task graph, which {} does not change; leave {} "
                      "out",
                      printable(path), option, option));
    }
  }
  return ok_status();
}

// Options of a task graph's links, which a model's hardware file describes.
Status check_options_of_model(const std::string& path, const MachineChoice& machine) {
  const bool rate = machine.bytes_per_s != MachineChoice{}.bytes_per_s;
  if (!rate && !machine.links.has_value()) {
    return ok_status();
  }
  return invalid_input(
      fmt::format("{}: found a model, whose links are those of the hardware file; leave {} out",
                  printable(path), rate ? "--bandwidth" : "--links"));
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
    DFSIM_RETURN_IF_ERROR(check_options_of_model(path, machine));
    DFSIM_ASSIGN_OR_RETURN(const CostedModel costed, load_costed_model(model, path, machine));
    DFSIM_ASSIGN_OR_RETURN(ProblemInstance problem, costed.problem());
    return LoadedProblem{std::move(problem), costed.loaded.unknown};
  }
  DFSIM_RETURN_IF_ERROR(check_options_of_task_graph(path, model, machine));
  DFSIM_ASSIGN_OR_RETURN(ProblemInstance problem, from_task_graph(path, machine));
  return LoadedProblem{std::move(problem), {}};
}

}  // namespace dfsim::inline study
