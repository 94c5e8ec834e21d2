#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/instance_source.h"
#include "cli/progress.h"
#include "cli/training_source.h"
#include "opmodel/model_loader.h"
#include "opmodel/node_lowering.h"
#include "partition/cached_model.h"
#include "report/copy_log.h"
#include "report/html/html_page.h"
#include "report/policy_run.h"
#include "report/prediction.h"
#include "report/prediction_views.h"
#include "report/trace_file.h"
#include "schedulers/comm_model.h"

namespace dfsim::cli {
namespace {

constexpr size_t kIntervalRuns = 20;

struct PredictOptions {
  ModelOptions model;
  std::string hardware;
  std::string runtime;
  std::string policy = "first-device";
  std::string cost_model;
  bool ops = false;
  bool json = false;
  bool csv = false;
  size_t top = 10;
  std::string trace;
  std::string html;
  TrainingChoice training;
  std::string output = "-";
  size_t requests = 0;
  RequestOptions pipeline;
  std::string arrivals = "poisson";
  size_t repeat = 0;
  uint64_t seed = 0;
};

// The pipeline of requests that was asked for, or none.
StatusOr<std::optional<RequestOptions>> pipeline_of(const PredictOptions& options) {
  if (options.requests == 0) {
    return std::optional<RequestOptions>();
  }
  RequestOptions pipeline = options.pipeline;
  pipeline.requests = options.requests;
  pipeline.seed = options.seed;
  if (pipeline.requests_per_s != 0) {
    const std::vector<std::string> names = {"uniform", "poisson"};
    if (std::ranges::find(names, options.arrivals) == names.end()) {
      return invalid_input(unknown_name_message("kind of arrivals", options.arrivals, names));
    }
    pipeline.arrivals =
        options.arrivals == "uniform" ? ArrivalKind::kUniform : ArrivalKind::kPoisson;
  }
  return std::optional<RequestOptions>(pipeline);
}

// The modes beside the single run.
Status add_modes(const PredictOptions& options, const SchedulingProblem& problem,
                 const PolicyInfo& policy, const PolicyRunOptions& run_options,
                 Prediction* prediction) {
  DFSIM_ASSIGN_OR_RETURN(prediction->request_options, pipeline_of(options));
  if (prediction->request_options.has_value()) {
    DFSIM_ASSIGN_OR_RETURN(prediction->requests, run_policy_requests(problem, policy, run_options,
                                                                     *prediction->request_options));
  }
  if (options.repeat > 0) {
    RepeatOptions repeat;
    repeat.runs = options.repeat;
    repeat.seed = options.seed;
    DFSIM_ASSIGN_OR_RETURN(prediction->repetition,
                           run_policy_repeatedly(problem, policy, run_options, repeat));
  }
  return ok_status();
}

std::string render(const PredictOptions& options, const Prediction& prediction) {
  if (options.json) {
    return prediction_json(prediction);
  }
  if (options.csv) {
    return ops_csv(prediction);
  }
  return options.ops ? ops_text(prediction) : summary_text(prediction, options.top);
}

// The text to print; writes the trace when one is asked for.
StatusOr<std::string> predict(const PredictOptions& options, Progress& progress) {
  progress.stage("importing " + options.model.path);
  DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_machine(options.hardware, options.runtime));
  DFSIM_ASSIGN_OR_RETURN(const std::optional<TrainingOptions> training, options.training.options());
  DFSIM_ASSIGN_OR_RETURN(
      LoadedModel model,
      load_model(options.model, runtime_for(options.training, platform.runtime)));
  if (training) {
    DFSIM_RETURN_IF_ERROR(make_training_step(*training, options.model.path, &model));
  }
  progress.stage("costing " + std::to_string(model.workload.rows.size()) + " distinct operators");
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> cost_model,
                         load_cost_model_for(platform, options.cost_model));
  // It knows what gradients are priced as.
  const std::unique_ptr<CostModel> cached = make_cached_model(*cost_model);
  DFSIM_ASSIGN_OR_RETURN(const CostTable costs, make_cost_table(model.workload.rows, platform,
                                                                training ? *cached : *cost_model));
  auto node = lower_for_node(model.executed, model.workload, platform, costs);
  if (!node.ok()) {
    return node.status().with_place(options.model.path);
  }
  const ExecGraph& tasks = node->workload.graph;
  std::unique_ptr<TraceFile> trace;
  if (!options.trace.empty()) {
    DFSIM_ASSIGN_OR_RETURN(trace, TraceFile::open(options.trace, {tasks, platform, &model.executed,
                                                                  &node->workload, &node->costs}));
  }
  progress.stage("simulating " + std::to_string(tasks.task_count()) + " tasks");
  const PolicyRegistry registry;
  DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* policy, registry.find(options.policy));
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CommModel> comm, make_comm_model(platform));
  PolicyRunOptions run_options;
  run_options.sim.dispatch_ns = std::move(node->dispatch_ns);
  run_options.sim.seed = options.seed;
  run_options.group_small_tasks = true;
  MemoryLog memory(platform, trace == nullptr ? nullptr : trace->listener());
  CopyLog copies(platform, &memory);
  const SchedulingProblem problem{tasks, node->costs, platform, *comm, options.seed};
  DFSIM_ASSIGN_OR_RETURN(PolicyRun run, run_policy(problem, *policy, run_options, &copies));
  // The report is about the model's operators, not the host's tasks around them.
  std::vector<TaskRecord> records;
  for (const TaskId task : node->task_of) {
    records.push_back(run.result.tasks[task.index()]);
  }
  run.result.tasks = std::move(records);
  DFSIM_ASSIGN_OR_RETURN(
      Prediction prediction,
      make_prediction({model.name, model.report, model.totals, model.executed, model.imported_ops,
                       model.pruned_ops, model.passes, model.workload, costs, platform, run.result,
                       cost_model->name(), &tasks, copies.copies(), memory.devices()}));
  DFSIM_RETURN_IF_ERROR(add_modes(options, problem, *policy, run_options, &prediction));
  if (trace != nullptr) {
    DFSIM_RETURN_IF_ERROR(trace->close());
  }
  if (!options.html.empty()) {
    Prediction shown = prediction;
    if (!shown.repetition.has_value()) {
      // The page shows the interval of the latency even when no distribution was asked for.
      RepeatOptions repeat;
      repeat.runs = kIntervalRuns;
      repeat.seed = options.seed;
      DFSIM_ASSIGN_OR_RETURN(shown.repetition,
                             run_policy_repeatedly(problem, *policy, run_options, repeat));
    }
    DFSIM_ASSIGN_OR_RETURN(const std::string page, html_page(options.html, prediction_json(shown)));
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
  command->add_option("--html", options->html, "Also write a report to look at, one offline file")
      ->option_text("OUT.html");
  add_modes(command, *options);
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
