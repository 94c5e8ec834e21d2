// A policy in 40 lines: each task, the moment it is ready, joins the device with the fewest
// unfinished tasks. The CMakeLists.txt in this folder builds it twice: as a plugin of dfsim, and
// into run_policy.cc.
#include <memory>

#include "schedulers/planning/task_view.h"
#include "schedulers/plugin.h"

namespace {

class ShortestQueue final : public dfsim::OnlineScheduler {
 public:
  std::string_view name() const override { return "shortest-queue"; }

  dfsim::Status begin(const dfsim::SchedulingProblem& problem) override {
    problem_ = &problem;
    return dfsim::check_problem(problem);
  }

  void decide(const dfsim::OnlineView& view, std::span<const dfsim::TaskId> newly_ready,
              std::vector<dfsim::Decision>& decisions) override {
    const size_t devices = problem_->platform.devices.size();
    std::vector<size_t> queued(devices);
    for (size_t d = 0; d < devices; ++d) {
      queued[d] = view.unfinished_tasks(dfsim::DeviceId(d));
    }
    for (const dfsim::TaskId task : newly_ready) {
      size_t best = devices;
      for (size_t d = 0; d < devices; ++d) {
        const uint32_t row = problem_->graph.cost_row(task);
        if (problem_->costs.feasible(row, dfsim::DeviceId(d)) &&
            (best == devices || queued[d] < queued[best])) {
          best = d;
        }
      }
      ++queued[best];
      decisions.push_back({task, dfsim::DeviceId(best)});
    }
  }

 private:
  const dfsim::SchedulingProblem* problem_ = nullptr;
};

std::unique_ptr<dfsim::OnlineScheduler> make(const dfsim::PolicyOptions&) {
  return std::make_unique<ShortestQueue>();
}

}  // namespace

DFSIM_SCHEDULER_PLUGIN(registry) {
  return registry.add({"shortest-queue", "fewest unfinished tasks", "", nullptr, make, 0});
}
