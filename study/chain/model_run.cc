// ModelRun: prepare() costs and lowers, the simulate functions run what it made.
#include "study/chain/model_run.h"

#include <algorithm>
#include <span>
#include <utility>

#include "graphs/algorithms/arena_plan.h"
#include "opmodel/cached_model.h"
#include "opmodel/run_costs.h"
#include "schedulers/comm_model.h"
#include "study/chain/unknown_work.h"

namespace dfsim::inline study {

namespace {

// Reports how many requests of a pipeline are done.
class RequestCounter final : public SimListener {
 public:
  RequestCounter(const Progress& progress, size_t requests)
      : progress_(progress), requests_(requests) {}

  void on_request_finished(uint32_t /*request*/, TimeNs /*time_ns*/) override {
    progress_.advance(static_cast<double>(++done_), static_cast<double>(requests_), "requests");
  }

 private:
  const Progress& progress_;
  const size_t requests_;
  size_t done_ = 0;
};

// Summed time of the operators whose sizes only the data of a run tell. `records` has one per task
// of the model's workload.
TimeNs time_of_largest_sizes(const LoadedModel& model, std::span<const TaskRecord> records) {
  TimeNs sum_ns = 0;
  const ExecGraph& tasks = model.workload.graph;
  for (size_t t = 0; t < tasks.task_count(); ++t) {
    if (has_largest_sizes(model.executed, tasks.op(TaskId(t)))) {
      sum_ns += records[t].end_ns - records[t].start_ns;
    }
  }
  return sum_ns;
}

}  // namespace

StatusOr<CostTable> cost_operators(const LoadedModel& model, const Platform& platform,
                                   const CostModel& cost_model) {
  // The cached model knows as what gradients are priced.
  const std::unique_ptr<CostModel> cached =
      model.is_training ? make_cached_model(cost_model) : nullptr;
  return cost_workload(model.workload, platform, cached != nullptr ? *cached : cost_model);
}

StatusOr<std::optional<Bytes>> arena_bytes(const LoadedModel& model, const Platform& platform) {
  if (platform.devices.size() != 1 || platform.devices[0].type != DeviceType::kCpu ||
      platform.runtime.allocator != AllocatorKind::kArena) {
    return std::optional<Bytes>();
  }
  DFSIM_ASSIGN_OR_RETURN(const ArenaPlan plan, plan_arena(model.executed, model.unsized));
  return std::optional<Bytes>(plan.peak_bytes);
}

StatusOr<ModelRun> ModelRun::prepare(const LoadedModel& model, const Platform& platform,
                                     const CostModel& cost_model, const ModelRunOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(CostTable costs, cost_operators(model, platform, cost_model));
  ModelRun run(model, platform, std::move(costs));
  auto node = lower_for_node(model.executed, model.workload, platform, run.costs_);
  if (!node.ok()) {
    return node.status().with_place(model.path);
  }
  run.node_ = std::move(*node);
  const PolicyRegistry builtin;
  const PolicyRegistry& registry = options.policies == nullptr ? builtin : *options.policies;
  DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* policy, registry.find(options.policy));
  run.policy_ = *policy;
  DFSIM_ASSIGN_OR_RETURN(run.comm_, make_comm_model(platform));
  add_dispatch_modes({model.executed, model.workload.graph, model.is_training, model.autocast},
                     platform.runtime, run.node_.task_of, &run.node_.dispatch_ns);
  leave_estimates_out_of_limit(run.costs_, &run.node_.dispatch_ns);
  run.options_.sim.dispatch_ns = std::move(run.node_.dispatch_ns);
  run.options_.sim.seed = options.seed;
  // Tasks that take less than it takes to send their data elsewhere stay where their data is.
  run.options_.group_small_tasks = true;
  return run;
}

StatusOr<SimulatedModel> ModelRun::simulate(SimListener* listener) const {
  DFSIM_ASSIGN_OR_RETURN(PolicyRun run, run_policy(problem(), policy_, options_, listener));
  // A report is about the model's operators, not the host's tasks around them.
  std::vector<TaskRecord> records;
  std::vector<DeviceId> devices;
  records.reserve(node_.task_of.size());
  devices.reserve(node_.task_of.size());
  for (const TaskId task : node_.task_of) {
    records.push_back(run.result.tasks[task.index()]);
    devices.push_back(records.back().device);
  }
  run.result.tasks = std::move(records);
  SimulatedModel simulated;
  HostShare host{run.result.host_busy_ns, 0,
                 host_spread(platform_->host.dispatch_speed, model_->autocast)};
  for (const DeviceUse& use : run.result.devices) {
    host.device_busy_ns = std::max(host.device_busy_ns, use.busy_ns);
  }
  const TimeNs latency_ns = run.result.makespan_ns;
  const TimeNs largest_ns = time_of_largest_sizes(*model_, run.result.tasks);
  simulated.interval = with_largest_sizes(
      with_host_doubt(latency_interval(model_->workload.graph, costs_, devices, latency_ns),
                      latency_ns, host),
      latency_ns, largest_ns);
  if (latency_ns > 0) {
    simulated.largest_share =
        std::min(static_cast<double>(largest_ns) / static_cast<double>(latency_ns), 1.0);
  }
  simulated.result = std::move(run.result);
  return simulated;
}

StatusOr<RequestResult> ModelRun::simulate_requests(const RequestOptions& requests,
                                                    const Progress& progress) const {
  RequestCounter counter(progress, requests.requests);
  return run_policy_requests(problem(), policy_, options_, requests,
                             progress.on_advance ? &counter : nullptr);
}

StatusOr<RepeatResult> ModelRun::simulate_repeatedly(size_t runs, const Progress& progress) const {
  RepeatOptions repeat;
  repeat.on_finished = [&](size_t done) {
    progress.advance(static_cast<double>(done), static_cast<double>(runs), "runs");
  };
  repeat.runs = runs;
  repeat.seed = options_.sim.seed;
  return run_policy_repeatedly(problem(), policy_, options_, repeat);
}

RunSubject ModelRun::subject() const {
  return {node_.workload.graph, *platform_, &model_->executed, &node_.workload, &node_.costs};
}

ProblemInstance ModelRun::into_problem(std::string cost_model) && {
  ProblemInstance instance;
  instance.graph_name = model_->name;
  instance.hardware_name = platform_->name;
  instance.graph = std::move(node_.workload.graph);
  instance.costs = std::move(node_.costs);
  instance.platform = *platform_;
  instance.cost_model = std::move(cost_model);
  instance.dispatch_ns = std::move(options_.sim.dispatch_ns);
  instance.group_small_tasks = options_.group_small_tasks;
  instance.comm = std::move(comm_);
  return instance;
}

}  // namespace dfsim::inline study
