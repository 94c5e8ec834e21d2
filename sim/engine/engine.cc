// Checks before a run, and the three kinds of run.
#include "sim/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "schedulers/comm_model.h"
#include "sim/engine/event_loop.h"
#include "sim/engine/static_plan.h"

namespace dfsim::inline sim {

namespace {

Status check_costs(const SimInput& input) {
  const auto& [graph, costs, platform] = input;
  if (platform.devices.empty()) {
    return invalid_input(
        fmt::format("platform '{}' has no devices; expected at least one", platform.name));
  }
  if (graph.task_count() > 0 && costs.devices() != platform.devices.size()) {
    return invalid_input(fmt::format("the cost table has {} devices, but platform '{}' has {}",
                                     costs.devices(), platform.name, platform.devices.size()));
  }
  for (size_t t = 0; t < graph.task_count(); ++t) {
    if (graph.cost_row(TaskId(t)) >= costs.rows()) {
      return invalid_input(fmt::format("task '{}' has cost row {}, but the cost table has {} rows",
                                       printable(graph.name(TaskId(t))), graph.cost_row(TaskId(t)),
                                       costs.rows()));
    }
  }
  return ok_status();
}

Status check_options(const SimOptions& options, size_t tasks, const RequestPlan& requests) {
  for (const TaskId task : options.sync_after) {
    if (task.index() >= tasks) {
      return invalid_input(
          fmt::format("sync point after task {}, but there are {} tasks", task.value(), tasks));
    }
  }
  if (!options.dispatch_ns.empty() && options.dispatch_ns.size() != tasks) {
    return invalid_input(fmt::format("dispatch times of {} tasks are given, but there are {}",
                                     options.dispatch_ns.size(), tasks));
  }
  if (options.decision_ns < 0) {
    return invalid_input(
        fmt::format("decision time: {} ns; expected 0 or more", options.decision_ns));
  }
  if (options.memory == MemoryPolicy::kSpill && requests.requests > 1) {
    return invalid_input(
        "memory policy 'spill' is for single runs; use 'wait' or 'fail' with several requests");
  }
  if (options.memory == MemoryPolicy::kSpill && options.queue_order == QueueOrder::kReadyFirst) {
    return invalid_input("memory policy 'spill' needs devices that run their tasks in order");
  }
  return ok_status();
}

Status check(const EngineInput& engine) {
  DFSIM_RETURN_IF_ERROR(check_costs(engine.input));
  return check_options(engine.options, engine.input.graph.task_count(), engine.mode.requests);
}

StatusOr<EngineResult> run_loop(EventLoop& loop) {
  EngineResult result;
  DFSIM_ASSIGN_OR_RETURN(result.run, loop.run());
  result.requests = loop.take_requests();
  return result;
}

// `policy`: one policy, or a maker of policies.
template <typename Policy>
StatusOr<EngineResult> run_under_policy(const EngineInput& engine, Policy& policy) {
  const auto& [input, options, mode, listener] = engine;
  DFSIM_RETURN_IF_ERROR(check(engine));
  // The line of a device numbers instances, of all requests, with 32 bits.
  const auto tasks = static_cast<uint32_t>(input.graph.task_count());
  if (mode.requests.requests > UINT32_MAX / std::max(1U, tasks)) {
    return invalid_input(
        fmt::format("{} requests of {} tasks under a policy; expected up to {} tasks",
                    mode.requests.requests, tasks, UINT32_MAX));
  }
  DFSIM_ASSIGN_OR_RETURN(const auto comm, make_comm_model(input.platform));
  const SchedulingProblem problem{input.graph, input.costs, input.platform, *comm, options.seed};
  EventLoop loop(input, options, mode, listener, LineKind::kDecided);
  loop.use_policy(problem, policy, options.decision_ns);
  return run_loop(loop);
}

}  // namespace

StatusOr<EngineResult> run_engine(const EngineInput& engine, const Schedule& schedule) {
  DFSIM_RETURN_IF_ERROR(check(engine));
  DFSIM_ASSIGN_OR_RETURN(auto placement, planned_placement(engine.input, schedule));
  EventLoop loop(engine.input, engine.options, engine.mode, engine.listener, LineKind::kPlanned);
  DFSIM_RETURN_IF_ERROR(loop.use_plan(schedule, std::move(placement)));
  return run_loop(loop);
}

StatusOr<EngineResult> run_engine(const EngineInput& engine, OnlineScheduler& policy) {
  return run_under_policy(engine, policy);
}

StatusOr<EngineResult> run_engine(const EngineInput& engine, const MakePolicy& make_policy) {
  return run_under_policy(engine, make_policy);
}

}  // namespace dfsim::inline sim
