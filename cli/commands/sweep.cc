// dfsim sweep: many predictions at once, as a table and a report.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/io/file.h"
#include "base/io/text_file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/study_commands.h"
#include "report/predictions/sweep_views.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_report.h"

namespace dfsim::cli {
namespace {

constexpr size_t kMostThreads = 1024;

struct SweepCommand {
  std::string file;
  SweepOptions sweep;
  SweepConstraints constraints;
  std::string prices;
  std::string output;
  bool json = false;
  bool csv = false;
  bool lines = false;
};

// "a,b" and "c", given by two options, are three values.
void split_values(std::vector<std::string>* values) {
  std::vector<std::string> all;
  for (const std::string& text : *values) {
    for (std::string& value : split(text, ',')) {
      if (!value.empty()) {
        all.push_back(std::move(value));
      }
    }
  }
  *values = std::move(all);
}

StatusOr<SweepOptions> sweep_options_of(const SweepCommand& command) {
  SweepOptions options = command.sweep;
  SweepAxes& axes = options.axes;
  for (std::vector<std::string>* values :
       {&axes.models, &axes.hardware, &axes.runtimes, &axes.precisions, &axes.modes, &axes.policies,
        &axes.batches}) {
    split_values(values);
  }
  if (!command.file.empty()) {
    DFSIM_RETURN_IF_ERROR(read_sweep_file(command.file, &options));
  }
  options.program = std::string("dfsim ") + DFSIM_VERSION;
  if (!command.output.empty() && command.output != "-") {
    options.journal = command.output + ".partial";
  }
  return options;
}

// By the name of the file; gzip where it ends in .gz.
StatusOr<bool> is_csv(const std::string& output) {
  const std::string name = output.ends_with(".gz") ? output.substr(0, output.size() - 3) : output;
  if (!name.ends_with(".csv") && !name.ends_with(".jsonl")) {
    return invalid_input(fmt::format(
        "-o {}: found another ending, expected .csv or .jsonl, with or without .gz; name it so",
        printable(output)));
  }
  return name.ends_with(".csv");
}

Status write_table(const SweepCommand& command, const SweepResult& result) {
  DFSIM_ASSIGN_OR_RETURN(const bool csv, is_csv(command.output));
  DFSIM_ASSIGN_OR_RETURN(TextWriter writer, TextWriter::open(command.output));
  const HourlyPrices& prices = command.constraints.prices;
  DFSIM_RETURN_IF_ERROR(
      writer.append(csv ? sweep_csv(result, prices) : sweep_json_lines(result, prices)));
  return writer.close();
}

StatusOr<SweepResult> sweep_with_progress(const SweepOptions& options, bool quiet) {
  ProgressLine line(quiet);
  return sweep(options, line.callbacks());
}

Status run_sweep(SweepCommand command, const SweepHooks& hooks, bool quiet) {
  if (!command.output.empty()) {
    DFSIM_RETURN_IF_ERROR(is_csv(command.output).status());
  }
  if (!command.prices.empty()) {
    DFSIM_ASSIGN_OR_RETURN(command.constraints.prices, read_prices(command.prices));
  }
  DFSIM_ASSIGN_OR_RETURN(SweepOptions options, sweep_options_of(command));
  if (!hooks.journal.empty()) {
    options.journal = hooks.journal;
  }
  DFSIM_ASSIGN_OR_RETURN(SweepResult result, sweep_with_progress(options, quiet));
  DFSIM_ASSIGN_OR_RETURN(SweepReport report, make_sweep_report(result, command.constraints));
  if (!command.output.empty()) {
    DFSIM_RETURN_IF_ERROR(write_table(command, result));
  }
  if (!command.output.empty() || !hooks.journal.empty()) {
    DFSIM_RETURN_IF_ERROR(remove_journal(options));
  }
  if (hooks.take) {
    hooks.take(std::move(result), std::move(report));
    return ok_status();
  }
  DFSIM_RETURN_IF_ERROR(write_file("-", command.csv ? sweep_csv(result, command.constraints.prices)
                                        : command.json
                                            ? sweep_json(result, report)
                                            : sweep_text(result, report, command.lines)));
  if (result.failed() == result.rows.size()) {
    return failed("all points failed; the first: " + result.rows.front().error);
  }
  return ok_status();
}

OptionTable sweep_axes(SweepCommand& o) {
  return {
      {.names = "SWEEP",
       .target = &o.file,
       .help = "A sweep as YAML (docs/commands/sweep.md); options add to its lists",
       .value = "FILE.yaml"},
      {.names = "--models",
       .target = &o.sweep.axes.models,
       .help = "Models, or patterns in quotes such as 'models/*.onnx'; commas; repeatable",
       .value = "FILE,..."},
      {.names = "--hw",
       .target = &o.sweep.axes.hardware,
       .help = "Hardware files, or names of built-in ones; commas; repeatable",
       .value = "FILE|NAME,...",
       .suggest = hardware_names},
      {.names = "--runtime",
       .target = &o.sweep.axes.runtimes,
       .help = "Runtime files or names; default: what each hardware file names",
       .value = "FILE|NAME,...",
       .suggest = runtime_names},
      {.names = "--batch",
       .target = &o.sweep.axes.batches,
       .help = "Batch sizes: numbers and series, 1:8 (1 to 8), 8:64:8 (steps of 8), 1:256:x2 "
               "(doubling)",
       .value = "SERIES,..."},
      {.names = "--param",
       .target = &o.sweep.axes.params,
       .help = "Extents of a dynamic dimension: sequence=128:2048:x2; repeatable",
       .value = "NAME=SERIES,...",
       .one_at_a_time = true},
      {.names = "--precision",
       .target = &o.sweep.axes.precisions,
       .help = "Precisions to rewrite the models to (docs/reference/precision.md); default: as the "
               "model has it",
       .value = "NAME|FILE,...",
       .suggest = precision_option_names},
      {.names = "--mode",
       .target = &o.sweep.axes.modes,
       .help = "infer, train or both; default: infer",
       .value = "MODE,..."},
      {.names = "--policy",
       .target = &o.sweep.axes.policies,
       .help = "Scheduling policies that place operators on devices; default: first-device",
       .value = "NAME,...",
       .suggest = policy_names},
      {.names = "--combine",
       .target = &o.sweep.combine,
       .help = "product: every value with every other; zip: the first of each list, the second of "
               "each, ...; default: product",
       .value = "HOW"},
  };
}

OptionTable sweep_settings(SweepCommand& o) {
  return {
      cost_model_option(&o.sweep.cost_model),
      {.names = "--optimizer",
       .target = &o.sweep.training.optimizer,
       .help = "Optimizer of points that train: sgd, momentum or adam; default: adam",
       .value = "NAME"},
      {.names = "--recompute",
       .target = &o.sweep.training.recompute,
       .help = "Activations computed again by points that train: none, selective or full; "
               "default: none",
       .value = "WHAT"},
      {.names = "--threads",
       .target = &o.sweep.threads,
       .help = "Predict this number of points at a time; default: one per core",
       .value = "N",
       .range = {1, kMostThreads}},
      {.names = "--seed",
       .target = &o.sweep.seed,
       .help = "Seed of randomised policies; default: 0",
       .value = "N"},
  };
}

OptionTable sweep_results(SweepCommand& o) {
  return {
      {.names = "--max-latency-ms",
       .target = &o.constraints.max_latency_ms,
       .help = "Rank only configurations up to that latency",
       .value = "MS",
       .positive = true},
      {.names = "--max-memory-gb",
       .target = &o.constraints.max_memory_gb,
       .help = "Rank only configurations up to that peak of memory",
       .value = "GB",
       .positive = true},
      {.names = "--prices",
       .target = &o.prices,
       .help = "Prices of machines per hour, as YAML lines 'a100: 2.5': adds costs",
       .value = "FILE.yaml"},
      {.names = "--max-price",
       .target = &o.constraints.max_price_per_hour,
       .help = "Rank only machines up to that price per hour",
       .value = "X",
       .positive = true,
       .needs = "--prices"},
      {.names = "--lines",
       .target = &o.lines,
       .help = "Also the latency of each model over the batch",
       .excludes = "--json,--csv"},
      json_option(&o.json),
      {.names = "--csv",
       .target = &o.csv,
       .help = "The table, one row per point, as CSV",
       .excludes = "--json"},
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Also write the table there: .csv or .jsonl, with .gz compressed. A sweep that was "
               "stopped resumes",
       .value = "FILE"},
  };
}

}  // namespace

CommandSpec sweep_command() { return sweep_command_with({}); }

CommandSpec sweep_command_with(SweepHooks hooks) {
  const auto options = std::make_shared<SweepCommand>();
  return {
      .name = "sweep",
      .summary = "Predict many models, machines and batches at once; find the best",
      .options = joined({sweep_axes(*options), sweep_settings(*options), sweep_results(*options)}),
      .examples = {{"dfsim sweep --models 'models/*.onnx' --hw a100,l4 --batch 1:256:x2 -o "
                    "points.csv",
                    "a table with a row per point, and the best configurations"},
                   {"dfsim sweep --models m.onnx --hw a100,h100,l4 --batch 1:64:x2 --prices "
                    "prices.yaml --max-latency-ms 20",
                    "the cheapest machine that meets a latency"}},
      .run = [options, hooks = std::move(hooks)](const GlobalOptions& global) {
        return run_sweep(*options, hooks, global.quiet);
      }};
}

}  // namespace dfsim::cli
