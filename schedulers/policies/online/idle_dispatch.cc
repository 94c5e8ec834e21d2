// Policies that hold ready tasks back until a device is idle: first come first served, shortest job
// first, and the critical-path list (largest upward rank first). The best task that some idle
// device can run goes to the idle device on which it finishes first.
#include <limits>
#include <queue>

#include "schedulers/planning/ranks.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/policies/online/online_base.h"

namespace dfsim::inline schedulers::policies {
namespace {

enum class Order { kArrival, kShortest, kCriticalPath };

class IdleDispatch final : public OnlineBase {
 public:
  IdleDispatch(std::string_view name, Order order) : OnlineBase(name), order_(order) {}

  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override;

 private:
  Status prepare() override;
  void arrive(TaskId task);
  double priority(TaskId task, size_t device) const;
  // The task that the device would run, without a valid id when it can run none. Passes over tasks
  // that went elsewhere.
  TaskHeap::Entry next(size_t device);
  TaskHeap::Entry next_arrived(size_t device);

  Order order_;
  std::vector<double> rank_;
  std::vector<TaskHeap> heaps_;  // per device, tasks it can run; each task is in several
  // By arrival the tasks already are in order: one list for all devices, each with its own place.
  std::vector<TaskId> arrived_;
  std::vector<size_t> places_;
  std::vector<uint8_t> taken_;
  std::vector<uint8_t> idle_;
};

Status IdleDispatch::prepare() {
  heaps_.assign(tasks().devices(), TaskHeap());
  arrived_.clear();
  places_.assign(tasks().devices(), 0);
  taken_.assign(tasks().tasks(), 0);
  idle_.assign(tasks().devices(), 0);
  rank_ = order_ == Order::kCriticalPath ? upward_rank(tasks()) : std::vector<double>();
  return ok_status();
}

double IdleDispatch::priority(TaskId task, size_t device) const {
  return order_ == Order::kShortest ? -static_cast<double>(tasks().time_ns(task, device))
                                    : rank_[task.index()];
}

void IdleDispatch::arrive(TaskId task) {
  if (order_ == Order::kArrival) {
    arrived_.push_back(task);
    return;
  }
  for (size_t d = 0; d < heaps_.size(); ++d) {
    if (tasks().feasible(task, d)) {
      heaps_[d].push(priority(task, d), task);
    }
  }
}

TaskHeap::Entry IdleDispatch::next_arrived(size_t device) {
  size_t& place = places_[device];
  while (place < arrived_.size() &&
         (taken_[arrived_[place].index()] != 0 || !tasks().feasible(arrived_[place], device))) {
    ++place;
  }
  return place < arrived_.size() ? TaskHeap::Entry{-static_cast<double>(place), arrived_[place]}
                                 : TaskHeap::Entry{0, TaskId()};
}

TaskHeap::Entry IdleDispatch::next(size_t device) {
  if (order_ == Order::kArrival) {
    return next_arrived(device);
  }
  TaskHeap& heap = heaps_[device];
  while (!heap.empty() && taken_[heap.top().task.index()] != 0) {
    heap.pop();
  }
  return heap.empty() ? TaskHeap::Entry{0, TaskId()} : heap.top();
}

void IdleDispatch::decide(const OnlineView& view, std::span<const TaskId> newly_ready,
                          std::vector<Decision>& decisions) {
  for (const TaskId task : newly_ready) {
    arrive(task);
  }
  for (size_t d = 0; d < idle_.size(); ++d) {
    idle_[d] = view.unfinished_tasks(DeviceId(d)) == 0 ? 1 : 0;
  }
  while (true) {
    TaskHeap::Entry best{0, TaskId()};
    for (size_t d = 0; d < heaps_.size(); ++d) {
      if (idle_[d] == 0) {
        continue;
      }
      const TaskHeap::Entry entry = next(d);
      if (entry.task.valid() && (!best.task.valid() || best < entry)) {
        best = entry;
      }
    }
    if (!best.task.valid()) {
      return;
    }
    look_at(view, best.task);
    size_t device = 0;
    TimeNs least = std::numeric_limits<TimeNs>::max();
    for (size_t d = 0; d < heaps_.size(); ++d) {
      const TimeNs time = tasks().time_ns(best.task, d);
      if (idle_[d] != 0 && time >= 0 && fetch_ns(d) + time < least) {
        least = fetch_ns(d) + time;
        device = d;
      }
    }
    taken_[best.task.index()] = 1;
    idle_[device] = 0;
    decisions.push_back({best.task, DeviceId(device)});
  }
}

}  // namespace

OnlinePtr make_fcfs(const PolicyOptions&) {
  return std::make_unique<IdleDispatch>("fcfs", Order::kArrival);
}
OnlinePtr make_sjf(const PolicyOptions&) {
  return std::make_unique<IdleDispatch>("sjf", Order::kShortest);
}
OnlinePtr make_critical_path(const PolicyOptions&) {
  return std::make_unique<IdleDispatch>("critical-path", Order::kCriticalPath);
}

}  // namespace dfsim::inline schedulers::policies
