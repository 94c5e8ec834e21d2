// DONFM, the memory-aware DONF (Lin, Li, Jia, Liu, An 2019, doi:10.1007/s11390-019-1962-4): while
// some device is nearly full, first the ready task that reads the data item on a full device with
// fewest readers left, so that memory comes free soonest; otherwise as DONF. Tasks wait while no
// device has room for them.
#include <algorithm>
#include <limits>

#include "schedulers/policies/online/online_base.h"

namespace dfsim::inline schedulers::policies {
namespace {

constexpr double kNearlyFull = 0.1;  // share of the memory that is free
constexpr Bytes kUnlimited = std::numeric_limits<Bytes>::max();

class Donfm final : public OnlineBase {
 public:
  Donfm() : OnlineBase("donfm") {}

  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override;

 private:
  Status prepare() override;
  bool nearly_full(size_t device) const {
    const Bytes capacity = tasks().problem().platform.devices[device].memory_bytes;
    return free_[device] != kUnlimited &&
           static_cast<double>(free_[device]) < kNearlyFull * static_cast<double>(capacity);
  }
  // Readers left of the task's input that is on a nearly full device and has fewest.
  uint32_t fewest_readers(const OnlineView& view, TaskId task) const;
  bool decide_one(const OnlineView& view, TaskId task, std::vector<Decision>& decisions);

  std::vector<double> priority_;
  std::vector<uint32_t> readers_;  // per data item: undecided readers
  std::vector<TaskId> waiting_;
  std::vector<TimeNs> ahead_;
  std::vector<Bytes> free_;
};

Status Donfm::prepare() {
  const ExecGraph& graph = tasks().graph();
  waiting_.clear();
  ahead_.assign(tasks().devices(), 0);
  free_.assign(tasks().devices(), 0);
  priority_.assign(tasks().tasks(), 0.0);
  readers_.assign(graph.data_count(), 0);
  for (const Edge& edge : graph.edges()) {
    priority_[edge.from.index()] += 1.0 / static_cast<double>(graph.in_degree(edge.to));
    ++readers_[edge.data.index()];
  }
  return ok_status();
}

uint32_t Donfm::fewest_readers(const OnlineView& view, TaskId task) const {
  const ExecGraph& graph = tasks().graph();
  uint32_t fewest = UINT32_MAX;
  for (const uint32_t e : graph.in_edge_indices(task)) {
    const Edge& edge = graph.edges()[e];
    if (nearly_full(view.device_of(edge.from).index())) {
      fewest = std::min(fewest, readers_[edge.data.index()]);
    }
  }
  return fewest;
}

bool Donfm::decide_one(const OnlineView& view, TaskId task, std::vector<Decision>& decisions) {
  look_at(view, task);
  size_t best = SIZE_MAX;
  TimeNs best_finish = std::numeric_limits<TimeNs>::max();
  for (size_t d = 0; d < ahead_.size(); ++d) {
    const TimeNs time = tasks().time_ns(task, d);
    const TimeNs finish = std::max(ahead_[d], view.now_ns() + fetch_ns(d)) + time;
    if (time >= 0 && finish < best_finish &&
        (free_[d] == kUnlimited || memory_need(view, d) <= free_[d])) {
      best = d;
      best_finish = finish;
    }
  }
  if (best == SIZE_MAX) {
    return false;
  }
  free_[best] -= free_[best] == kUnlimited ? 0 : memory_need(view, best);
  ahead_[best] = best_finish;
  for (const uint32_t e : tasks().graph().in_edge_indices(task)) {
    --readers_[tasks().graph().edges()[e].data.index()];
  }
  decisions.push_back({task, DeviceId(best)});
  return true;
}

void Donfm::decide(const OnlineView& view, std::span<const TaskId> newly_ready,
                   std::vector<Decision>& decisions) {
  waiting_.insert(waiting_.end(), newly_ready.begin(), newly_ready.end());
  bool full = false;
  for (size_t d = 0; d < ahead_.size(); ++d) {
    ahead_[d] = view.available_ns(DeviceId(d));
    free_[d] = view.free_bytes(DeviceId(d));
    full = full || nearly_full(d);
  }
  struct Key {
    uint32_t readers;
    double priority;
    TaskId task;
  };
  std::vector<Key> order;
  for (const TaskId task : waiting_) {
    order.push_back(
        {full ? fewest_readers(view, task) : UINT32_MAX, priority_[task.index()], task});
  }
  std::ranges::stable_sort(order, [](const Key& a, const Key& b) {
    return a.readers != b.readers ? a.readers < b.readers : a.priority > b.priority;
  });
  waiting_.clear();
  for (const Key& key : order) {
    if (!decide_one(view, key.task, decisions)) {
      waiting_.push_back(key.task);
    }
  }
}

}  // namespace

OnlinePtr make_donfm(const PolicyOptions&) { return std::make_unique<Donfm>(); }

}  // namespace dfsim::inline schedulers::policies
