// dfsim partition: a model over many devices, every plan simulated.
#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/training_options.h"
#include "report/html/html_page.h"
#include "report/predictions/partitioning_views.h"
#include "report/svg/plan_svg.h"
#include "report/trace/trace_file.h"
#include "study/partitioning/partition.h"

namespace dfsim::cli {
namespace {

struct PartitionCommand : PartitionOptions {
  bool json = false;
  std::string output;
  std::string trace;
  std::string svg;
  std::string html;
};

// The best plan again, for its trace, its drawing and its report.
Status write_best(const PartitionCommand& command, const Partitioning& partitioning,
                  Partitioner& partitioner) {
  const PlanOutcome* best = partitioning.best();
  const bool is_drawn = !command.svg.empty() || !command.html.empty();
  std::string drawing;
  if (best != nullptr && (is_drawn || !command.trace.empty())) {
    DFSIM_ASSIGN_OR_RETURN(
        const RunOfPlan again,
        partitioner.run_again(partitioning, *best, trace_recorder(command.trace)));
    drawing = is_drawn ? plan_svg(*best, again.run, again.graph) : "";
    if (!command.svg.empty()) {
      DFSIM_RETURN_IF_ERROR(write_file(command.svg, drawing));
    }
  }
  if (command.html.empty()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const std::string page,
                         html_page(command.html, partitioning_json(partitioning, drawing)));
  return write_file(command.html, page);
}

StatusOr<Partitioning> run_with_progress(Partitioner& partitioner, bool quiet) {
  ProgressLine line(quiet);
  return partitioner.run(line.callbacks());
}

Status run(const PartitionCommand& command, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<Partitioner> partitioner,
                         Partitioner::create(command));
  DFSIM_ASSIGN_OR_RETURN(const Partitioning partitioning, run_with_progress(*partitioner, quiet));
  if (const PlanOutcome* best = partitioning.best(); best != nullptr && !command.output.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(command.output, plan_yaml(best->plan)));
  }
  DFSIM_RETURN_IF_ERROR(write_best(command, partitioning, *partitioner));
  return write_file("-", command.json ? partitioning_json(partitioning)
                                      : fit_lines(partitioning_text(partitioning)));
}

void add_machine_options(CLI::App* command, PartitionCommand& options) {
  command
      ->add_option("--hw", options.hardware,
                   "A hardware file, or the name of a built-in one with several devices")
      ->required()
      ->option_text("FILE|NAME");
  command
      ->add_option("--runtime", options.runtime,
                   "How the framework executes: a runtime file or the name of a built-in one; "
                   "default: what the hardware file names")
      ->option_text("FILE|NAME");
  command
      ->add_option("--cost-model", options.cost_model,
                   "Operator times: a model's folder, the name of a built-in one, or sol for the "
                   "speed-of-light bound; default: what each device names")
      ->option_text("DIR|NAME");
  command
      ->add_option("--collectives", options.collectives,
                   "model: by formula, once all are there; flow: as messages on the links, in "
                   "contention with everything else; default: model")
      ->option_text("MODE")
      ->check(CLI::IsMember({"model", "flow"}));
}

void add_training_options(CLI::App* command, PartitionCommand& options) {
  add_training_options(command, options.training);
  command
      ->add_option("--bucket-mb", options.bucket_mb,
                   "MiB of gradients that are exchanged together beside the backward pass; 0: each "
                   "gradient alone, after it; default: 25")
      ->option_text("MIB")
      ->check(CLI::Range(0.0, 1e6));
  command
      ->add_option(
          "--nodes", options.nodes,
          "The cluster with so many nodes: its last one repeated, or its last ones left out")
      ->option_text("N")
      ->check(CLI::Range(1, 65536));
  command->add_flag("--every-device", options.every_device,
                    "Simulate each device, also where many do the same (more than 16 devices)");
}

}  // namespace

void register_partition(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "partition", "A model over many devices: data, tensor and pipeline parallel, simulated");
  auto options = std::make_shared<PartitionCommand>();
  add_model_options(command, options->model);
  add_machine_options(command, *options);
  command
      ->add_option(
          "--strategy", options->strategy,
          "auto (the default: all of the others), dp, tp, pp, hybrid, search; uneven; or a plan "
          "file as -o writes it (docs/partitioning.md)")
      ->option_text("NAME|FILE");
  command
      ->add_option("--devices", options->devices,
                   "How many devices share the work; default: all accelerators, or all CPUs")
      ->option_text("N")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--micro-batches", options->micro_batches,
                   "Into how many parts the batch is cut for a pipeline; default: the best of 1, "
                   "2 and 4 for each stage")
      ->option_text("N")
      ->check(CLI::Range(1, 65536));
  command
      ->add_option("--schedule", options->schedule,
                   "Of a pipeline: 1f1b, gpipe or interleaved; default: 1f1b")
      ->option_text("NAME");
  command
      ->add_option("--chunks", options->chunks,
                   "Parts of the model on each device of an interleaved pipeline; default: 2")
      ->option_text("N")
      ->check(CLI::Range(1, 64));
  add_training_options(command, *options);
  command->add_flag("--json", options->json, "Everything as JSON");
  command->add_option("-o,--output", options->output, "Write the best plan there, as YAML")
      ->option_text("PLAN.yaml");
  command
      ->add_option("--trace", options->trace,
                   "Write the best plan's timeline, " + std::string(kTraceFileHelp))
      ->option_text("OUT.json");
  command->add_option("--svg", options->svg, "Draw the best plan")->option_text("OUT.svg");
  command->add_option("--html", options->html, "Also write a report to look at, one offline file")
      ->option_text("OUT.html");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
