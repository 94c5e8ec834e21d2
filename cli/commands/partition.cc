// dfsim partition: a model over many devices, every plan simulated.
#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "cli/verdicts.h"
#include "report/html/html_page.h"
#include "report/predictions/partitioning_views.h"
#include "report/svg/plan_svg.h"
#include "report/trace/trace_file.h"
#include "study/partitioning/partition.h"

namespace dfsim::cli {
namespace {

struct PartitionCommand : PartitionOptions {
  bool allow_oversubscription = false;
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

StatusOr<Partitioning> partition_with_progress(Partitioner& partitioner, bool quiet) {
  ProgressLine line(quiet);
  return partitioner.run(line.callbacks());
}

Status run_partition(const PartitionCommand& command, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<Partitioner> partitioner,
                         Partitioner::create(command));
  DFSIM_ASSIGN_OR_RETURN(const Partitioning partitioning,
                         partition_with_progress(*partitioner, quiet));
  if (const PlanOutcome* best = partitioning.best(); best != nullptr && !command.output.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(command.output, plan_yaml(best->plan)));
  }
  DFSIM_RETURN_IF_ERROR(write_best(command, partitioning, *partitioner));
  DFSIM_RETURN_IF_ERROR(write_result("-", command.json
                                              ? partitioning_json(partitioning)
                                              : fit_lines(partitioning_text(partitioning))));
  DFSIM_RETURN_IF_ERROR(
      check_complete(command.model.path, partitioning.unknown, command.model.allow_incomplete));
  return check_fits(command.model.path, missing_memory(partitioning),
                    "take a smaller batch or more devices", command.allow_oversubscription);
}

OptionTable partition_machine(PartitionCommand& o) {
  return {
      {.names = "--hw",
       .target = &o.hardware,
       .help = "A hardware file, or the name of a built-in one with several devices",
       .value = "FILE|NAME",
       .required = true,
       .hint = "dfsim hardware lists the machines that dfsim knows",
       .suggest = hardware_names},
      runtime_option(&o.runtime),
      precision_option(&o.model.precision),
      cost_model_option(&o.cost_model),
      {.names = "--collectives",
       .target = &o.collectives,
       .help = "model: by formula, once all are there; flow: as messages on the links, in "
               "contention with everything else; default: model",
       .value = "MODE",
       .choices = "model,flow"},
  };
}

OptionTable partition_training(PartitionCommand& o) {
  return joined(
      {training_options(o.training),
       {
           {.names = "--bucket-mb",
            .target = &o.bucket_mb,
            .help = "MiB of gradients to exchange together during the backward pass; 0: each "
                    "gradient alone, after it; default: 25",
            .value = "MIB",
            .range = {0.0, 1e6}},
           {.names = "--nodes",
            .target = &o.nodes,
            .help = "Resize the cluster to this number of nodes: repeat its last one, or leave out "
                    "its last ones",
            .value = "N",
            .range = {1, 65536}},
           {.names = "--every-device",
            .target = &o.every_device,
            .help = "Simulate each device, even where many do the same (more than 16 devices)"},
       }});
}

OptionTable partition_options(PartitionCommand& o) {
  return joined(
      {model_options(o.model),
       {allow_incomplete_option(&o.model.allow_incomplete),
        allow_oversubscription_option(&o.allow_oversubscription)},
       partition_machine(o),
       {
           {.names = "--strategy",
            .target = &o.strategy,
            .help = "auto (the default: all of the others), dp, tp, pp, hybrid, search; uneven; or "
                    "a plan "
                    "file as -o writes it (docs/reference/partitioning.md)",
            .value = "NAME|FILE"},
           {.names = "--devices",
            .target = &o.devices,
            .help = "How many devices share the work; default: all accelerators, or all CPUs",
            .value = "N",
            .positive = true},
           {.names = "--micro-batches",
            .target = &o.micro_batches,
            .help = "Parts into which a pipeline cuts the batch; default: the best of 1, "
                    "2 and 4 for each stage",
            .value = "N",
            .range = {1, 65536}},
           {.names = "--schedule",
            .target = &o.schedule,
            .help = "Pipeline schedule: 1f1b, gpipe or interleaved; default: 1f1b",
            .value = "NAME"},
           pad_vocabulary_option(&o.model.pad_vocabulary),
           {.names = "--chunks",
            .target = &o.chunks,
            .help = "Parts of the model on each device of an interleaved pipeline; default: 2",
            .value = "N",
            .range = {1, 64}},
       },
       partition_training(o),
       {
           json_option(&o.json),
           {.names = "-o,--output",
            .target = &o.output,
            .help = "Write the best plan there, as YAML",
            .value = "PLAN.yaml"},
           {.names = "--trace",
            .target = &o.trace,
            .help = "Write the best plan's timeline, " + std::string(kTraceFileHelp),
            .value = "OUT.json"},
           {.names = "--svg", .target = &o.svg, .help = "Draw the best plan", .value = "OUT.svg"},
           html_option(&o.html),
       }});
}

}  // namespace

CommandSpec partition_command() {
  const auto options = std::make_shared<PartitionCommand>();
  return {.name = "partition",
          .summary = "Split a model over devices (data, tensor, pipeline parallel) and simulate it",
          .options = partition_options(*options),
          .examples = {{"dfsim partition model.onnx --hw dgx-a100 --devices 8 --mode train",
                        "the fastest way to train on eight GPUs"}},
          .run = [options](const GlobalOptions& global) {
            return run_partition(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
