// Work stealing (Blumofe, Leiserson 1999, doi:10.1145/324133.324234): a ready task joins the deque
// of the device that holds most of its inputs (entries: in turn). An idle device takes the newest
// of its own deque, or else steals the oldest it can run from the longest deque.
#include <algorithm>
#include <deque>

#include "schedulers/policies/online/online_base.h"

namespace dfsim::inline schedulers::policies {
namespace {

class WorkStealing final : public OnlineBase {
 public:
  WorkStealing() : OnlineBase("work-stealing") {}

  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    for (const TaskId task : newly_ready) {
      deques_[home(view, task)].push_back(task);
    }
    for (size_t d = 0; d < deques_.size(); ++d) {
      if (view.unfinished_tasks(DeviceId(d)) > 0) {
        continue;
      }
      const TaskId task = deques_[d].empty() ? steal(d) : take_own(d);
      if (task.valid()) {
        decisions.push_back({task, DeviceId(d)});
      }
    }
  }

 private:
  Status prepare() override {
    deques_.assign(tasks().devices(), {});
    next_ = 0;
    return ok_status();
  }

  size_t home(const OnlineView& view, TaskId task) {
    const ExecGraph& graph = tasks().graph();
    std::vector<Bytes> held(deques_.size(), 0);
    size_t best = SIZE_MAX;
    for (const uint32_t e : graph.in_edge_indices(task)) {
      const Edge& edge = graph.edges()[e];
      const size_t device = view.device_of(edge.from).index();
      held[device] += graph.edge_bytes(edge);
      if (tasks().feasible(task, device) && (best == SIZE_MAX || held[device] > held[best])) {
        best = device;
      }
    }
    while (best == SIZE_MAX) {
      best = tasks().feasible(task, next_) ? next_ : SIZE_MAX;
      next_ = (next_ + 1) % deques_.size();
    }
    return best;
  }

  TaskId take_own(size_t device) {
    const TaskId task = deques_[device].back();
    deques_[device].pop_back();
    return task;
  }

  TaskId steal(size_t thief) {
    std::vector<size_t> victims(deques_.size());
    for (size_t d = 0; d < victims.size(); ++d) {
      victims[d] = d;
    }
    std::ranges::stable_sort(victims, std::greater<>(),
                             [this](size_t d) { return deques_[d].size(); });
    for (const size_t victim : victims) {
      std::deque<TaskId>& deque = deques_[victim];
      const auto found =
          std::ranges::find_if(deque, [&](TaskId task) { return tasks().feasible(task, thief); });
      if (found != deque.end()) {
        const TaskId task = *found;
        deque.erase(found);
        return task;
      }
    }
    return TaskId();
  }

  std::vector<std::deque<TaskId>> deques_;
  size_t next_ = 0;
};

}  // namespace

OnlinePtr make_work_stealing(const PolicyOptions&) { return std::make_unique<WorkStealing>(); }

}  // namespace dfsim::inline schedulers::policies
