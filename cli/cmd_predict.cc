#include <fmt/format.h>

#include <cstdio>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/model_source.h"
#include "cli/progress.h"
#include "hardware/platform_loader.h"
#include "opmodel/model_loader.h"
#include "report/chrome_trace.h"
#include "report/prediction.h"
#include "report/prediction_views.h"
#include "schedulers/comm_model.h"
#include "schedulers/registry.h"
#include "sim/simulator.h"

namespace dfsim::cli {
namespace {

struct PredictOptions {
  ModelOptions model;
  std::string hardware;
  std::string runtime;
  std::string policy;  // "" = everything on the first device
  std::string cost_model;
  bool ops = false;
  bool json = false;
  bool csv = false;
  size_t top = 10;
  std::string trace;
  std::string output = "-";
};

StatusOr<Platform> platform_for(const PredictOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_platform(options.hardware));
  if (!options.runtime.empty()) {
    DFSIM_ASSIGN_OR_RETURN(platform.runtime, load_runtime(options.runtime));
  }
  return platform;
}

// Places the tasks with the chosen policy and runs them.
StatusOr<SimResult> simulate_with(const std::string& policy_name, const SimInput& input,
                                  const SimOptions& options, SimListener* listener) {
  const size_t devices = input.platform.devices.size();
  if (policy_name.empty()) {
    return simulate(input, single_device_schedule(input.graph, devices, DeviceId(size_t{0})),
                    options, listener);
  }
  const PolicyRegistry registry;
  DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* policy, registry.find(policy_name));
  if (policy->online()) {
    return simulate(input, *policy->make_online({}), options, listener);
  }
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CommModel> comm, make_comm_model(input.platform));
  DFSIM_ASSIGN_OR_RETURN(
      const Schedule schedule,
      policy->make_static({})->plan({input.graph, input.costs, input.platform, *comm}));
  return simulate(input, schedule, options, listener);
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
  DFSIM_ASSIGN_OR_RETURN(const Platform platform, platform_for(options));
  DFSIM_ASSIGN_OR_RETURN(const LoadedModel model, load_model(options.model));
  progress.stage("costing " + std::to_string(model.workload.rows.size()) + " distinct operators");
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> cost_model,
                         load_cost_model_for(platform, options.cost_model));
  DFSIM_ASSIGN_OR_RETURN(const CostTable costs,
                         make_cost_table(model.workload.rows, platform, *cost_model));
  const ExecGraph& tasks = model.workload.graph;
  std::unique_ptr<ChromeTrace> trace;
  if (!options.trace.empty()) {
    trace = ChromeTrace::create({tasks, platform, &model.pruned.graph, &model.workload, &costs});
  }
  progress.stage("simulating " + std::to_string(tasks.task_count()) + " tasks");
  SimOptions sim_options;
  sim_options.dispatch_ns = dispatch_times(model.workload, platform.runtime);
  DFSIM_ASSIGN_OR_RETURN(
      const SimResult result,
      simulate_with(options.policy, {tasks, costs, platform}, sim_options, trace.get()));
  DFSIM_ASSIGN_OR_RETURN(const Prediction prediction,
                         make_prediction({model.name, model.report, model.totals,
                                          model.pruned.graph, model.imported_ops, model.workload,
                                          costs, platform, result, cost_model->name()}));
  if (trace != nullptr) {
    DFSIM_RETURN_IF_ERROR(write_file(options.trace, trace->finish()));
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
                   "--help); default: everything on the first device")
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
      ->add_option("--trace", options->trace, "Write the timeline for Perfetto or chrome://tracing")
      ->option_text("OUT.json");
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
