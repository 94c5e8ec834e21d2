#include "cli/instance_source.h"

#include <fmt/format.h>

#include "hardware/platform_loader.h"
#include "opmodel/sol.h"
#include "schedulers/comm_model.h"

namespace dfsim::cli {
namespace {

StatusOr<ProblemInstance> from_task_graph(const std::string& path, const MachineChoice& machine) {
  DFSIM_ASSIGN_OR_RETURN(TaskGraph task_graph, read_task_graph(path));
  if (machine.hardware.empty()) {
    return make_instance(std::move(task_graph),
                         TaskGraphMachine{machine.processors, machine.bytes_per_s});
  }
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_platform(machine.hardware));
  return make_instance(std::move(task_graph), std::move(platform));
}

StatusOr<ProblemInstance> from_model(ModelOptions model, const std::string& path,
                                     const MachineChoice& machine) {
  if (machine.hardware.empty()) {
    return invalid_input(
        fmt::format("{}: a model needs hardware to run on; say which with --hw FILE|NAME", path));
  }
  model.path = path;
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_platform(machine.hardware));
  DFSIM_ASSIGN_OR_RETURN(LoadedModel loaded, load_model(model));
  const std::unique_ptr<CostModel> cost_model = make_sol_model();
  ProblemInstance instance;
  DFSIM_ASSIGN_OR_RETURN(instance.costs,
                         make_cost_table(loaded.workload.rows, platform, *cost_model));
  instance.graph_name = loaded.name;
  instance.hardware_name = platform.name;
  instance.graph = std::move(loaded.workload.graph);
  instance.platform = std::move(platform);
  DFSIM_ASSIGN_OR_RETURN(instance.comm, make_comm_model(instance.platform));
  return instance;
}

}  // namespace

StatusOr<ProblemInstance> load_instance(const std::string& path, const ModelOptions& model,
                                        const MachineChoice& machine) {
  return looks_like_task_graph(path) ? from_task_graph(path, machine)
                                     : from_model(model, path, machine);
}

}  // namespace dfsim::cli
