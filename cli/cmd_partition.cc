// dfsim partition: a model over many devices, every plan simulated.
#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/instance_source.h"
#include "cli/partitioner.h"
#include "cli/progress.h"
#include "opmodel/cached_model.h"
#include "opmodel/model/model_loader.h"
#include "partition/plans/cluster.h"
#include "report/trace_file.h"

namespace dfsim::cli {
namespace {

Status run(const PartitionOptions& options, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_machine(options.hardware, options.runtime));
  if (options.nodes > 0) {
    DFSIM_ASSIGN_OR_RETURN(platform, resize_cluster(platform, options.nodes));
  }
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> trained,
                         load_cost_model_for(platform, options.cost_model));
  const std::unique_ptr<CostModel> model = make_cached_model(*trained);
  Partitioner partitioner(options, platform, *model);
  StatusOr<Partitioning> partitioning = failed("nothing was partitioned");
  {
    Progress progress(quiet);
    partitioning = partitioner.run(progress);
  }
  if (!partitioning.ok()) {
    return partitioning.status();
  }
  if (const PlanOutcome* best = partitioning->best(); best != nullptr && !options.output.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(options.output, plan_yaml(best->plan)));
  }
  DFSIM_RETURN_IF_ERROR(partitioner.draw(*partitioning));
  return write_file("-", options.json ? partitioning_json(*partitioning)
                                      : fit_lines(partitioning_text(*partitioning)));
}

void add_machine_options(CLI::App* command, PartitionOptions& options) {
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

void add_training_options(CLI::App* command, PartitionOptions& options) {
  options.training.add_to(command);
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
  auto options = std::make_shared<PartitionOptions>();
  options->model.add_to(command);
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
