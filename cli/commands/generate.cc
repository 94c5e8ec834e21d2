// dfsim generate: synthetic task graphs.
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "graphs/taskgraph/generate.h"

namespace dfsim::cli {

void register_generate(Registrar& registrar) {
  struct Options {
    GenerateOptions graph;
    std::string output = "-";
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = registrar.app().add_subcommand(
      "generate", "Make a synthetic task graph for `dfsim compare` (docs/task-graphs.md)");
  command
      ->add_option("--shape", options->graph.shape,
                   "One of: " + join(graph_shapes(), ", ") + "; default: layered")
      ->option_text("NAME");
  command->add_option("--tasks", options->graph.tasks, "How many tasks; default: 100")
      ->option_text("N");
  command
      ->add_option("--devices", options->graph.devices,
                   "Devices with costs of their own; 0, the default, leaves processors identical")
      ->option_text("N");
  command
      ->add_option("--ccr", options->graph.ccr,
                   "Mean delay of an edge / mean cost of a task; default: 1")
      ->option_text("X");
  command
      ->add_option("--heterogeneity", options->graph.heterogeneity,
                   "How much costs differ between devices, 0 to 2; default: 0.5")
      ->option_text("X");
  command
      ->add_option("--restricted", options->graph.restricted,
                   "Share of tasks that only some devices can run; default: 0")
      ->option_text("X");
  command->add_option("--seed", options->graph.seed, "Same seed, same graph; default: 1")
      ->option_text("N");
  command->add_flag("--json", options->json, "Write JSON (the only format there is)");
  command->add_option("-o,--output", options->output, "Where the graph goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command, [options]() -> Status {
    DFSIM_ASSIGN_OR_RETURN(const TaskGraph graph, generate_task_graph(options->graph));
    return write_task_graph(graph, options->output);
  });
}

}  // namespace dfsim::cli
