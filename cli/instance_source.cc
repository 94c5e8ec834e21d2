#include "cli/instance_source.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "opmodel/node_lowering.h"
#include "schedulers/comm_model.h"

namespace dfsim::cli {
namespace {

StatusOr<ProblemInstance> from_task_graph(const std::string& path, const MachineChoice& machine) {
  DFSIM_ASSIGN_OR_RETURN(TaskGraph task_graph, read_task_graph(path));
  if (machine.hardware.empty()) {
    return make_instance(std::move(task_graph),
                         TaskGraphMachine{machine.processors, machine.bytes_per_s});
  }
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_machine(machine.hardware, machine.runtime));
  return make_instance(std::move(task_graph), std::move(platform));
}

StatusOr<ProblemInstance> from_model(ModelOptions model, const std::string& path,
                                     const MachineChoice& machine) {
  if (machine.hardware.empty()) {
    return invalid_input(fmt::format(
        "{}: no task graph (docs/task-graphs.md), and a model needs hardware to run on; say "
        "which with --hw FILE|NAME",
        path));
  }
  model.path = path;
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_machine(machine.hardware, machine.runtime));
  DFSIM_ASSIGN_OR_RETURN(LoadedModel loaded, load_model(model, platform.runtime));
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> cost_model,
                         load_cost_model_for(platform, machine.cost_model));
  DFSIM_ASSIGN_OR_RETURN(const CostTable costs,
                         make_cost_table(loaded.workload.rows, platform, *cost_model));
  auto node = lower_for_node(loaded.executed, loaded.workload, platform, costs);
  if (!node.ok()) {
    return node.status().with_place(path);
  }
  ProblemInstance instance;
  instance.graph_name = loaded.name;
  instance.hardware_name = platform.name;
  instance.graph = std::move(node->workload.graph);
  instance.costs = std::move(node->costs);
  instance.platform = std::move(platform);
  instance.cost_model = cost_model->name();
  instance.dispatch_ns = std::move(node->dispatch_ns);
  instance.group_small_tasks = true;
  DFSIM_ASSIGN_OR_RETURN(instance.comm, make_comm_model(instance.platform));
  return instance;
}

}  // namespace

StatusOr<Platform> load_machine(const std::string& hardware, const std::string& runtime) {
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_platform(hardware));
  if (!runtime.empty()) {
    DFSIM_ASSIGN_OR_RETURN(platform.runtime, load_runtime(runtime));
  }
  return platform;
}

StatusOr<ProblemInstance> load_instance(const std::string& path, const ModelOptions& model,
                                        const MachineChoice& machine) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return not_found(
        fmt::format("{}: no such file; expected a task graph or an ONNX model", printable(path)));
  }
  return looks_like_task_graph(path) ? from_task_graph(path, machine)
                                     : from_model(model, path, machine);
}

}  // namespace dfsim::cli
