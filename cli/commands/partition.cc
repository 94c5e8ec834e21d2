// dfsim partition: a model over many devices, every plan simulated.
#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/instance_source.h"
#include "cli/partitioner.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "opmodel/cached_model.h"
#include "opmodel/model/model_loader.h"
#include "partition/plans/cluster.h"
#include "report/trace_file.h"

namespace dfsim::cli {
namespace {

Status run_partition(const PartitionOptions& options, bool quiet) {
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

OptionTable partition_machine(PartitionOptions& o) {
  return {
      {.names = "--hw",
       .target = &o.hardware,
       .help = "A hardware file, or the name of a built-in one with several devices",
       .value = "FILE|NAME",
       .required = true,
       .suggest = hardware_names},
      runtime_option(&o.runtime),
      cost_model_option(&o.cost_model),
      {.names = "--collectives",
       .target = &o.collectives,
       .help = "model: by formula, once all are there; flow: as messages on the links, in "
               "contention with everything else; default: model",
       .value = "MODE",
       .choices = "model,flow"},
  };
}

OptionTable partition_training(PartitionOptions& o) {
  return joined(
      {training_options(o.training),
       {
           {.names = "--bucket-mb",
            .target = &o.bucket_mb,
            .help =
                "MiB of gradients that are exchanged together beside the backward pass; 0: each "
                "gradient alone, after it; default: 25",
            .value = "MIB",
            .range = {0.0, 1e6}},
           {.names = "--nodes",
            .target = &o.nodes,
            .help =
                "The cluster with so many nodes: its last one repeated, or its last ones left out",
            .value = "N",
            .range = {1, 65536}},
           {.names = "--every-device",
            .target = &o.every_device,
            .help = "Simulate each device, also where many do the same (more than 16 devices)"},
       }});
}

OptionTable partition_options(PartitionOptions& o) {
  return joined(
      {model_options(o.model),
       partition_machine(o),
       {
           {.names = "--strategy",
            .target = &o.strategy,
            .help = "auto (the default: all of the others), dp, tp, pp, hybrid, search; uneven; or "
                    "a plan "
                    "file as -o writes it (docs/partitioning.md)",
            .value = "NAME|FILE"},
           {.names = "--devices",
            .target = &o.devices,
            .help = "How many devices share the work; default: all accelerators, or all CPUs",
            .value = "N",
            .positive = true},
           {.names = "--micro-batches",
            .target = &o.micro_batches,
            .help = "Into how many parts the batch is cut for a pipeline; default: the best of 1, "
                    "2 and 4 for each stage",
            .value = "N",
            .range = {1, 65536}},
           {.names = "--schedule",
            .target = &o.schedule,
            .help = "Of a pipeline: 1f1b, gpipe or interleaved; default: 1f1b",
            .value = "NAME"},
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
  const auto options = std::make_shared<PartitionOptions>();
  return {.name = "partition",
          .summary = "A model over many devices: data, tensor and pipeline parallel, simulated",
          .options = partition_options(*options),
          .run = [options](const GlobalOptions& global) {
            return run_partition(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
