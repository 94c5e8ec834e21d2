#include <fmt/format.h>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/predictor.h"
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

Status run(const PredictOptions& options, bool quiet) {
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

void add_modes(CLI::App* command, PredictOptions& options) {
  CLI::Option* requests =
      command
          ->add_option("--requests", options.requests,
                       "Also that many requests one after the other, as a server gets them: "
                       "throughput and latency percentiles")
          ->option_text("N")
          ->check(CLI::PositiveNumber);
  CLI::Option* in_flight =
      command
          ->add_option("--in-flight", options.pipeline.in_flight,
                       "Requests at a time, the next when one is done; default: 1")
          ->option_text("N")
          ->check(CLI::PositiveNumber)
          ->needs(requests);
  CLI::Option* rate = command
                          ->add_option("--rate", options.pipeline.requests_per_s,
                                       "Instead: requests that arrive per second")
                          ->option_text("X")
                          ->check(CLI::PositiveNumber)
                          ->needs(requests)
                          ->excludes(in_flight);
  command
      ->add_option("--arrivals", options.arrivals,
                   "Of --rate: poisson or uniform (evenly spaced); default: poisson")
      ->option_text("KIND")
      ->needs(rate);
  command
      ->add_option("--warm-up", options.pipeline.warm_up,
                   "Requests that throughput and latencies leave out; default: 0")
      ->option_text("N")
      ->needs(requests);
  command
      ->add_option("--repeat", options.repeat,
                   "Also that many runs with times drawn from the operators' intervals: the "
                   "distribution of latencies")
      ->option_text("N")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", options.seed, "Of arrivals, noise and policies; default: 0")
      ->option_text("N");
}

}  // namespace

void register_predict(Registrar& registrar) {
  CLI::App* command =
      registrar.app().add_subcommand("predict", "How long a model takes on a machine, and why");
  auto options = std::make_shared<PredictOptions>();
  options->model.add_to(command);
  command
      ->add_option("--hw", options->hardware,
                   "A hardware file, or the name of a built-in one (see dfsim hardware)")
      ->required()
      ->option_text("FILE|NAME");
  command
      ->add_option("--runtime", options->runtime,
                   "How the framework executes: a runtime file or the name of a built-in one; "
                   "default: what the hardware file names")
      ->option_text("FILE|NAME");
  command
      ->add_option("--policy", options->policy,
                   "Which scheduling policy places the operators on the devices (see dfsim compare "
                   "--help); default: first-device")
      ->option_text("NAME");
  command
      ->add_option("--cost-model", options->cost_model,
                   "Operator times: a model's folder, the name of a built-in one, or sol for the "
                   "speed-of-light bound; default: what each device names")
      ->option_text("DIR|NAME");
  CLI::Option* ops = command->add_flag("--ops", options->ops, "One line per operator");
  CLI::Option* json = command->add_flag("--json", options->json, "Everything as JSON");
  CLI::Option* csv = command->add_flag("--csv", options->csv, "One row per operator as CSV");
  ops->excludes(json)->excludes(csv);
  json->excludes(csv);
  command->add_option("--top", options->top, "How many of the slowest operators the summary lists")
      ->option_text("N")
      ->capture_default_str();
  command
      ->add_option("--trace", options->trace, fmt::format("Write the timeline {}", kTraceFileHelp))
      ->option_text("OUT.json");
  options->training.add_to(command);
  command->add_flag("--advice", options->advice,
                    "Also what other settings would bring: runtime, batch, threads, recomputation, "
                    "policy, each predicted");
  command->add_option("--html", options->html, "Also write a report to look at, one offline file")
      ->option_text("OUT.html");
  add_modes(command, *options);
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
