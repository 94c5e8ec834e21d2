// Scheduling policies: tasks per second on a layered DAG (2.6 edges per task, 4 devices, ccr 1).
// Static policies plan; online ones run on the ideal machine of schedulers/ideal_run.h.
#include <benchmark/benchmark.h>

#include "graphs/taskgraph/generate.h"
#include "schedulers/problem_instance.h"
#include "schedulers/registry.h"

namespace dfsim {
namespace {

constexpr size_t kDevices = 4;

StatusOr<ProblemInstance> layered(size_t tasks) {
  GenerateOptions options;
  options.tasks = tasks;
  options.devices = kDevices;
  DFSIM_ASSIGN_OR_RETURN(TaskGraph graph, generate_task_graph(options));
  return make_instance(std::move(graph), TaskGraphMachine{});
}

void schedule(benchmark::State& state, const std::string& name) {
  const PolicyRegistry registry;
  const auto policy = registry.find(name);
  const auto instance = layered(static_cast<size_t>(state.range(0)));
  if (!policy.ok() || !instance.ok()) {
    state.SkipWithError("cannot set up");
    return;
  }
  const SchedulingProblem problem = instance->problem();
  TimeNs makespan = 0;
  for (auto _ : state) {
    const auto plan = plan_with(**policy, problem);
    if (!plan.ok()) {
      state.SkipWithError(plan.status().message().c_str());
      return;
    }
    makespan = plan->planned_makespan_ns;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["makespan_ms"] = static_cast<double>(makespan) / static_cast<double>(kNsPerMs);
}

#define DFSIM_SCHEDULER_BENCH(id, name) \
  BENCHMARK_CAPTURE(schedule, id, name) \
      ->Arg(1'000)                      \
      ->Arg(10'000)                     \
      ->Arg(100'000)                    \
      ->Unit(benchmark::kMillisecond)
DFSIM_SCHEDULER_BENCH(heft, "heft");
DFSIM_SCHEDULER_BENCH(donf, "donf");
DFSIM_SCHEDULER_BENCH(donfl, "donfl");
DFSIM_SCHEDULER_BENCH(heft_ready, "heft@ready");
DFSIM_SCHEDULER_BENCH(send_ahead, "send-ahead");
DFSIM_SCHEDULER_BENCH(peft, "peft");
DFSIM_SCHEDULER_BENCH(dls, "dls");
DFSIM_SCHEDULER_BENCH(etf, "etf");
DFSIM_SCHEDULER_BENCH(minmin, "minmin");
DFSIM_SCHEDULER_BENCH(mct, "mct");
DFSIM_SCHEDULER_BENCH(critical_path, "critical-path");
DFSIM_SCHEDULER_BENCH(lookahead, "lookahead");

}  // namespace
}  // namespace dfsim
