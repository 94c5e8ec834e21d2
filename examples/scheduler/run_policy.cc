// Simulates the policy of shortest_queue.cc and HEFT on a task graph and prints both makespans.
//   run_policy GRAPH [PROCESSORS]
// GRAPH is a task graph in any format that dfsim reads; PROCESSORS is for graphs that do not say
// which devices they are for.
#include <cstdio>
#include <cstdlib>

#include "graphs/taskgraph/task_graph.h"
#include "schedulers/plugin.h"
#include "schedulers/problem_instance.h"
#include "schedulers/registry.h"
#include "sim/simulator.h"

// What DFSIM_SCHEDULER_PLUGIN of shortest_queue.cc defines.
extern "C" const dfsim::SchedulerPlugin dfsim_scheduler_plugin;

namespace {

dfsim::StatusOr<dfsim::SimResult> run(const dfsim::ProblemInstance& instance,
                                      const dfsim::PolicyInfo& policy) {
  const dfsim::SimInput input{instance.graph, instance.costs, instance.platform};
  const dfsim::PolicyOptions options;
  if (policy.online()) {
    const auto scheduler = policy.make_online(options);
    return dfsim::simulate(input, *scheduler);
  }
  const auto plan = dfsim::plan_with(policy, instance.problem(), options);
  if (!plan.ok()) {
    return plan.status();
  }
  return dfsim::simulate(input, *plan);
}

dfsim::Status compare(const char* path, size_t processors) {
  dfsim::PolicyRegistry registry;
  DFSIM_RETURN_IF_ERROR(dfsim_scheduler_plugin.add_policies(registry));
  DFSIM_ASSIGN_OR_RETURN(dfsim::TaskGraph graph, dfsim::read_task_graph(path));
  DFSIM_ASSIGN_OR_RETURN(
      const dfsim::ProblemInstance instance,
      dfsim::make_instance(std::move(graph), dfsim::TaskGraphMachine{.processors = processors}));
  for (const char* const name : {"shortest-queue", "heft"}) {
    DFSIM_ASSIGN_OR_RETURN(const dfsim::PolicyInfo* const policy, registry.find(name));
    DFSIM_ASSIGN_OR_RETURN(const dfsim::SimResult result, run(instance, *policy));
    // Times of files without a unit are shown as they stand there.
    const double unit = instance.unitless ? static_cast<double>(dfsim::kNsPerFileUnit) : 1.0;
    std::printf("%-15s %.10g%s\n", name, static_cast<double>(result.makespan_ns) / unit,
                instance.unitless ? "" : " ns");
  }
  return dfsim::ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: run_policy GRAPH [PROCESSORS]\n");
    return 2;
  }
  const size_t processors = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (const dfsim::Status status = compare(argv[1], processors); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  return 0;
}
