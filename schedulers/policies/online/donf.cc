// DONF, DONF2, ADON (Lin, Li, Jia, Liu, An 2019, doi:10.1007/s11390-019-1962-4): weighted
// out-degree first. WOD(v) = sum over successors s of 1 / indegree(s): how much of its successors a
// task alone still holds up. DONF2 adds alpha * sum WOD(s), ADON recurs: r(v) = WOD(v) + alpha *
// sum r(s). Ready tasks are decided at once, highest priority first, each on the device of earliest
// finish among those with enough free memory; they wait while there is none.
#include <algorithm>
#include <limits>

#include "schedulers/planning/out_degree.h"
#include "schedulers/policies/online/online_base.h"

namespace dfsim::inline schedulers::policies {
namespace {

enum class Depth { kOne, kTwo, kAll };

class Donf final : public OnlineBase {
 public:
  Donf(std::string_view name, Depth depth, double alpha)
      : OnlineBase(name), depth_(depth), alpha_(alpha) {}

  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    line_up(newly_ready);
    if (waiting_.empty()) {
      return;
    }
    std::ranges::fill(taken_, 0);
    ahead_.resize(tasks().devices());
    for (size_t d = 0; d < ahead_.size(); ++d) {
      ahead_[d] = view.available_ns(DeviceId(d));
      free_[d] = limited_ ? view.free_bytes(DeviceId(d)) : std::numeric_limits<Bytes>::max();
    }
    std::erase_if(waiting_, [&](TaskId task) { return decide_one(view, task, decisions); });
  }

 private:
  Status prepare() override;
  void line_up(std::span<const TaskId> newly_ready);
  bool decide_one(const OnlineView& view, TaskId task, std::vector<Decision>& decisions);

  Depth depth_;
  double alpha_;
  std::vector<double> priority_;
  std::vector<TaskId> waiting_;  // decided later, for want of memory
  std::vector<TimeNs> ahead_;    // per device: availability including this call's decisions
  bool limited_ = false;         // some device's memory
  std::vector<Bytes> free_;
  std::vector<Bytes> taken_;  // per device, by this call's decisions
};

Status Donf::prepare() {
  const ExecGraph& graph = tasks().graph();
  waiting_.clear();
  limited_ = std::ranges::any_of(tasks().problem().platform.devices,
                                 [](const DeviceSpec& d) { return d.memory_bytes > 0; });
  free_.assign(tasks().devices(), 0);
  taken_.assign(tasks().devices(), 0);
  priority_ = depth_ == Depth::kOne   ? weighted_out_degree(graph)
              : depth_ == Depth::kTwo ? weighted_out_degree_of_two(graph, alpha_)
                                      : recursive_out_degree(graph, alpha_);
  return ok_status();
}

// Keeps waiting_ by priority, tasks of equal priority in the order in which they came.
void Donf::line_up(std::span<const TaskId> newly_ready) {
  const auto priority = [this](TaskId task) { return priority_[task.index()]; };
  constexpr size_t kFew = 8;
  if (newly_ready.size() > kFew) {
    waiting_.insert(waiting_.end(), newly_ready.begin(), newly_ready.end());
    std::ranges::stable_sort(waiting_, std::greater<>(), priority);
    return;
  }
  for (const TaskId task : newly_ready) {
    waiting_.insert(std::ranges::upper_bound(waiting_, priority(task), std::greater<>(), priority),
                    task);
  }
}

bool Donf::decide_one(const OnlineView& view, TaskId task, std::vector<Decision>& decisions) {
  look_at(view, task);
  const std::vector<TimeNs>& fetch = fetch_all_ns();
  const TimeNs* times = tasks().times(task);
  const TimeNs now = view.now_ns();
  constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();
  size_t best = 0;
  TimeNs best_finish = kNever;
  for (size_t d = 0; d < ahead_.size(); ++d) {
    const TimeNs finish = std::max(ahead_[d], now + fetch[d]) + times[d];
    const bool fits = free_[d] == std::numeric_limits<Bytes>::max() ||
                      memory_need(view, d) + taken_[d] <= free_[d];
    const TimeNs candidate = times[d] >= 0 && fits ? finish : kNever;
    best = candidate < best_finish ? d : best;
    best_finish = std::min(best_finish, candidate);
  }
  if (best_finish == kNever) {
    return false;
  }
  if (free_[best] != std::numeric_limits<Bytes>::max()) {
    taken_[best] += memory_need(view, best);
  }
  ahead_[best] = best_finish;
  decisions.push_back({task, DeviceId(best)});
  return true;
}

}  // namespace

OnlinePtr make_donf(const PolicyOptions& options) {
  return std::make_unique<Donf>("donf", Depth::kOne, options.alpha);
}
OnlinePtr make_donf2(const PolicyOptions& options) {
  return std::make_unique<Donf>("donf2", Depth::kTwo, options.alpha);
}
OnlinePtr make_adon(const PolicyOptions& options) {
  return std::make_unique<Donf>("adon", Depth::kAll, options.alpha);
}

}  // namespace dfsim::inline schedulers::policies
