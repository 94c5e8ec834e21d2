#include "cli/predictor.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cli/instance_source.h"
#include "opmodel/cached_model.h"
#include "opmodel/model/model_loader.h"
#include "opmodel/node_lowering.h"
#include "report/copy_log.h"
#include "report/policy_run.h"
#include "report/trace_file.h"
#include "schedulers/comm_model.h"

namespace dfsim::cli {
namespace {

constexpr size_t kIntervalRuns = 20;

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

}  // namespace

StatusOr<Prediction> predict_model(const PredictOptions& options, Progress& progress,
                                   RepeatResult* interval) {
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
  if (interval != nullptr) {
    RepeatOptions repeat;
    repeat.runs = kIntervalRuns;
    repeat.seed = options.seed;
    DFSIM_ASSIGN_OR_RETURN(*interval, run_policy_repeatedly(problem, *policy, run_options, repeat));
  }
  return prediction;
}

}  // namespace dfsim::cli
