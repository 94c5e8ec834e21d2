// `dfsim predict`: options, the choice of a view, and exit codes. A result that is incomplete or
// does not fit its device is printed in full before the command fails.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/study_commands.h"
#include "cli/terminal_text.h"
#include "cli/verdicts.h"
#include "report/html/html_page.h"
#include "report/predictions/prediction_views.h"
#include "report/trace/trace_file.h"
#include "study/prediction/predict.h"

namespace dfsim::cli {
namespace {

struct PredictCommand : PredictOptions {
  bool allow_oversubscription = false;
  bool ops = false;
  bool json = false;
  bool csv = false;
  std::string format = "text";
  size_t top = 10;
  std::string trace;
  std::string html;
  std::string output = "-";
};

std::string render(const PredictCommand& command, const Prediction& prediction) {
  if (command.json) {
    return prediction_json(prediction);
  }
  if (command.csv) {
    return ops_csv(prediction);
  }
  if (command.format == "markdown") {
    return prediction_markdown(prediction, command.top);
  }
  return command.ops ? ops_text(prediction) : fit_lines(summary_text(prediction, command.top));
}

StatusOr<Prediction> predict_with_progress(const PredictCommand& command, const PredictHooks& hooks,
                                           bool quiet) {
  PredictOptions options = command;
  options.record = trace_recorder(command.trace);
  options.policies = hooks.policies;
  ProgressLine line(quiet);
  return hooks.costs == nullptr ? predict(options, line.callbacks())
                                : predict_with_costs(options, *hooks.costs, line.callbacks());
}

// Complete, and within the device's memory; otherwise why not.
Status verdict_on(const PredictCommand& command, const Prediction& prediction) {
  DFSIM_RETURN_IF_ERROR(
      check_complete(command.model.path, prediction.unknown, command.model.allow_incomplete));
  const std::string missing =
      prediction.fits()
          ? ""
          : fmt::format("needs {}, the device has {}", format_bytes(prediction.peak_memory_bytes),
                        format_bytes(prediction.memory_bytes));
  return check_fits(command.model.path, missing, "take one of the settings that fit",
                    command.allow_oversubscription);
}

Status run_predict(const PredictCommand& command, const PredictHooks& hooks, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(Prediction prediction, predict_with_progress(command, hooks, quiet));
  if (!command.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page,
                           html_page(command.html, prediction_json(prediction)));
    DFSIM_RETURN_IF_ERROR(write_file(command.html, page));
  }
  const Status verdict = verdict_on(command, prediction);
  if (hooks.take) {
    hooks.take(std::move(prediction));
  } else {
    DFSIM_RETURN_IF_ERROR(write_result(command.output, render(command, prediction)));
  }
  return verdict;
}

OptionTable predict_modes(PredictCommand& o) {
  return {
      {.names = "--requests",
       .target = &o.requests,
       .help =
           "Also simulate this number of requests to a server: throughput and latency percentiles",
       .value = "N",
       .positive = true},
      {.names = "--in-flight",
       .target = &o.pipeline.in_flight,
       .help = "Requests at a time, the next when one is done; default: 1",
       .value = "N",
       .positive = true,
       .needs = "--requests"},
      {.names = "--rate",
       .target = &o.pipeline.requests_per_s,
       .help = "Instead: requests that arrive per second",
       .value = "X",
       .positive = true,
       .needs = "--requests",
       .excludes = "--in-flight"},
      {.names = "--arrivals",
       .target = &o.arrivals,
       .help = "Arrivals at --rate: poisson or uniform (evenly spaced); default: poisson",
       .value = "KIND",
       .needs = "--rate"},
      {.names = "--warm-up",
       .target = &o.pipeline.warm_up,
       .help = "Requests that throughput and latencies leave out; default: 0",
       .value = "N",
       .needs = "--requests"},
      {.names = "--repeat",
       .target = &o.repeat,
       .help = "Also simulate this number of runs with times drawn from the operators' intervals: "
               "the distribution of latencies",
       .value = "N",
       .range = {1, 1e6}},
      {.names = "--seed",
       .target = &o.seed,
       .help = "Seed of arrivals, noise and policies; default: 0",
       .value = "N"},
  };
}

OptionTable predict_options(PredictCommand& o) {
  return joined(
      {model_options(o.model),
       {
           allow_incomplete_option(&o.model.allow_incomplete),
           allow_oversubscription_option(&o.allow_oversubscription),
           {.names = "--hw",
            .target = &o.hardware,
            .help = "A hardware file, or the name of a built-in one (see dfsim hardware)",
            .value = "FILE|NAME",
            .required = true,
            .hint = "dfsim hardware lists the machines that dfsim knows",
            .suggest = hardware_names},
           runtime_option(&o.runtime),
           precision_option(&o.model.precision),
           pad_vocabulary_option(&o.model.pad_vocabulary),
           {.names = "--policy",
            .target = &o.policy,
            .help = "Scheduling policy that places the operators on the devices (see dfsim compare "
                    "--help); default: first-device",
            .value = "NAME",
            .suggest = policy_names},
           cost_model_option(&o.cost_model),
           {.names = "--ops",
            .target = &o.ops,
            .help = "One line per operator",
            .excludes = "--json,--csv"},
           json_option(&o.json),
           {.names = "--csv",
            .target = &o.csv,
            .help = "One row per operator as CSV",
            .excludes = "--json"},
           {.names = "--format",
            .target = &o.format,
            .help = "Form of the summary; markdown suits issues and pull requests",
            .value = "FORM",
            .show_default = true,
            .choices = "text,markdown",
            .excludes = "--json,--csv,--ops"},
           {.names = "--top",
            .target = &o.top,
            .help = "Slowest operators to list in the summary",
            .value = "N",
            .show_default = true},
           {.names = "--trace",
            .target = &o.trace,
            .help = fmt::format("Write the timeline {}", kTraceFileHelp),
            .value = "OUT.json"},
       },
       training_options(o.training),
       training_detail_options(o.training),
       {{.names = "--advice",
         .target = &o.advice,
         .help = "Also predict the gain of other settings: precision, runtime, batch, threads, "
                 "recomputation, policy"},
        html_option(&o.html)},
       predict_modes(o),
       {
           output_option(&o.output),
       }});
}

}  // namespace

CommandSpec predict_command() { return predict_command_with({}); }

CommandSpec predict_command_with(PredictHooks hooks) {
  const auto options = std::make_shared<PredictCommand>();
  return {.name = "predict",
          .summary = "Predict how long a model takes on a machine, and why",
          .options = predict_options(*options),
          .examples = {{"dfsim predict model.onnx --hw a100",
                        "latency, bottlenecks and the slowest operators"},
                       {"dfsim predict model.onnx --hw a100 --requests 1000 --rate 200",
                        "latency percentiles under load"},
                       {"dfsim predict model.onnx --hw v100 --mode train --batch 32 --json",
                        "a training step, as JSON"}},
          .run = [options, hooks = std::move(hooks)](const GlobalOptions& global) {
            return run_predict(*options, hooks, global.quiet);
          }};
}

}  // namespace dfsim::cli
