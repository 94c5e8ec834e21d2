#include <fmt/format.h>

#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/predictor.h"
#include "cli/shared_options.h"
#include "report/html/html_page.h"
#include "report/prediction_views.h"
#include "report/trace_file.h"

namespace dfsim::cli {
namespace {

std::string render(const PredictOptions& options, const Prediction& prediction) {
  if (options.json) {
    return prediction_json(prediction);
  }
  if (options.csv) {
    return ops_csv(prediction);
  }
  return options.ops ? ops_text(prediction) : fit_lines(summary_text(prediction, options.top));
}

// The text to print; writes the page when one is asked for.
StatusOr<std::string> predict(const PredictOptions& options, Progress& progress) {
  RepeatResult interval;
  DFSIM_ASSIGN_OR_RETURN(Prediction prediction,
                         predict_model(options, progress, options.advice ? &interval : nullptr));
  if (options.advice) {
    DFSIM_RETURN_IF_ERROR(advise_settings(options, interval, progress, &prediction));
  }
  if (!options.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page,
                           html_page(options.html, prediction_json(prediction)));
    DFSIM_RETURN_IF_ERROR(write_file(options.html, page));
  }
  return render(options, prediction);
}

Status run_predict(const PredictOptions& options, bool quiet) {
  StatusOr<std::string> text = failed("nothing was predicted");
  {
    Progress progress(quiet);
    text = predict(options, progress);
  }
  if (!text.ok()) {
    return text.status();
  }
  return write_file(options.output, *text);
}

OptionTable predict_modes(PredictOptions& o) {
  return {
      {.names = "--requests",
       .target = &o.requests,
       .help = "Also that many requests one after the other, as a server gets them: "
               "throughput and latency percentiles",
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
       .help = "Of --rate: poisson or uniform (evenly spaced); default: poisson",
       .value = "KIND",
       .needs = "--rate"},
      {.names = "--warm-up",
       .target = &o.pipeline.warm_up,
       .help = "Requests that throughput and latencies leave out; default: 0",
       .value = "N",
       .needs = "--requests"},
      {.names = "--repeat",
       .target = &o.repeat,
       .help = "Also that many runs with times drawn from the operators' intervals: the "
               "distribution of latencies",
       .value = "N",
       .positive = true},
      {.names = "--seed",
       .target = &o.seed,
       .help = "Of arrivals, noise and policies; default: 0",
       .value = "N"},
  };
}

OptionTable predict_options(PredictOptions& o) {
  return joined(
      {model_options(o.model),
       {
           {.names = "--hw",
            .target = &o.hardware,
            .help = "A hardware file, or the name of a built-in one (see dfsim hardware)",
            .value = "FILE|NAME",
            .required = true,
            .suggest = hardware_names},
           runtime_option(&o.runtime),
           {.names = "--policy",
            .target = &o.policy,
            .help =
                "Which scheduling policy places the operators on the devices (see dfsim compare "
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
           {.names = "--top",
            .target = &o.top,
            .help = "How many of the slowest operators the summary lists",
            .value = "N",
            .show_default = true},
           {.names = "--trace",
            .target = &o.trace,
            .help = fmt::format("Write the timeline {}", kTraceFileHelp),
            .value = "OUT.json"},
       },
       training_options(o.training),
       {{.names = "--advice",
         .target = &o.advice,
         .help = "Also what other settings would bring: runtime, batch, threads, recomputation, "
                 "policy, each predicted"},
        html_option(&o.html)},
       predict_modes(o),
       {
           output_option(&o.output),
       }});
}

}  // namespace

CommandSpec predict_command() {
  const auto options = std::make_shared<PredictOptions>();
  return {.name = "predict",
          .summary = "How long a model takes on a machine, and why",
          .options = predict_options(*options),
          .run = [options](const GlobalOptions& global) {
            return run_predict(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
