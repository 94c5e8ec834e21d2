#include <fmt/format.h>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/training_options.h"
#include "report/html/html_page.h"
#include "report/predictions/prediction_views.h"
#include "report/trace/trace_file.h"
#include "study/prediction/predict.h"

namespace dfsim::cli {
namespace {

struct PredictCommand : PredictOptions {
  bool ops = false;
  bool json = false;
  bool csv = false;
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
  return command.ops ? ops_text(prediction) : fit_lines(summary_text(prediction, command.top));
}

StatusOr<Prediction> predict_with_progress(const PredictCommand& command, bool quiet) {
  PredictOptions options = command;
  options.record = trace_recorder(command.trace);
  ProgressLine line(quiet);
  return predict(options, line.callbacks());
}

Status run(const PredictCommand& command, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const Prediction prediction, predict_with_progress(command, quiet));
  if (!command.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page,
                           html_page(command.html, prediction_json(prediction)));
    DFSIM_RETURN_IF_ERROR(write_file(command.html, page));
  }
  return write_file(command.output, render(command, prediction));
}

void add_modes(CLI::App* command, PredictCommand& options) {
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
  auto options = std::make_shared<PredictCommand>();
  add_model_options(command, options->model);
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
  add_training_options(command, options->training);
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
