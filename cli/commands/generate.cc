// dfsim generate: synthetic task graphs.
#include <memory>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "graphs/taskgraph/generate.h"

namespace dfsim::cli {
namespace {

struct GenerateCommand {
  GenerateOptions graph;
  std::string links;
  std::string output = "-";
  bool json = false;
};

OptionTable generate_options(GenerateCommand& o) {
  return {
      {.names = "--shape",
       .target = &o.graph.shape,
       .help = "One of: " + join(graph_shapes(), ", ") + "; default: layered",
       .value = "NAME"},
      {.names = "--tasks",
       .target = &o.graph.tasks,
       .help = "Number of tasks; default: 100",
       .value = "N"},
      {.names = "--devices",
       .target = &o.graph.devices,
       .help = "Devices with costs of their own; 0, the default, leaves processors identical",
       .value = "N"},
      {.names = "--ccr",
       .target = &o.graph.ccr,
       .help = "Mean delay of an edge / mean cost of a task; default: 1",
       .value = "X"},
      {.names = "--heterogeneity",
       .target = &o.graph.heterogeneity,
       .help = "How much costs differ between devices, 0 to 2; default: 0.5",
       .value = "X"},
      {.names = "--speed-spread",
       .target = &o.graph.speed_spread,
       .help = "The fastest device's speed / the slowest's; default: 1",
       .value = "X"},
      {.names = "--fat",
       .target = &o.graph.daggen.fat,
       .help = "daggen: layers have N^fat tasks on average, 0 to 1; default: 0.5",
       .value = "X"},
      {.names = "--density",
       .target = &o.graph.daggen.density,
       .help = "daggen: share of the layer above that a task may depend on; default: 0.5",
       .value = "X"},
      {.names = "--regularity",
       .target = &o.graph.daggen.regularity,
       .help = "daggen: 1 makes all layers equally wide; default: 0.9",
       .value = "X"},
      {.names = "--jump",
       .target = &o.graph.daggen.jump,
       .help = "daggen: edges come from up to this many layers above; default: 1",
       .value = "N"},
      {.names = "--links",
       .target = &o.links,
       .help = "Between the devices: free (transfers never meet) or fifo (a link between each two, "
               "one transfer at a time); default: fifo for daggen, else free",
       .value = "KIND",
       .choices = "free,fifo"},
      {.names = "--restricted",
       .target = &o.graph.restricted,
       .help = "Share of tasks that only some devices can run; default: 0",
       .value = "X"},
      {.names = "--seed",
       .target = &o.graph.seed,
       .help = "Same seed, same graph; default: 1",
       .value = "N"},
      {.names = "--json", .target = &o.json, .help = "Write JSON (the only format there is)"},
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Where the graph goes; - is stdout",
       .value = "FILE"},
  };
}

Status run_generate(GenerateCommand& options) {
  const bool is_fifo =
      options.links.empty() ? options.graph.shape == "daggen" : options.links == "fifo";
  options.graph.links = is_fifo ? TaskGraphLinks::kFifo : TaskGraphLinks::kFree;
  // The library makes empty graphs, for tests; no reader takes one from a file.
  if (options.graph.tasks == 0) {
    return invalid_input("the number of tasks is 0, expected 1 to 1e9");
  }
  DFSIM_ASSIGN_OR_RETURN(const TaskGraph graph, generate_task_graph(options.graph));
  return write_task_graph(graph, options.output);
}

}  // namespace

CommandSpec generate_command() {
  const auto options = std::make_shared<GenerateCommand>();
  return {
      .name = "generate",
      .summary = "Make a synthetic task graph for `dfsim compare` (docs/reference/task-graphs.md)",
      .options = generate_options(*options),
      .examples = {{"dfsim generate --shape cholesky --tasks 500 --devices 3 -o graph.json",
                    "a task graph with different costs on three devices"}},
      .run = [options](const GlobalOptions&) { return run_generate(*options); }};
}

}  // namespace dfsim::cli
