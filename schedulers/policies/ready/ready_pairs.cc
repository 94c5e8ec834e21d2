// The policies that pick among all pairs of a ready task and a device, deciding when tasks become
// ready: whenever some are, pairs are picked until none is left, each task behind what its device
// has. A task's data takes its idle time from the decision on.
//
// A placement only delays starts on its own device, so the best devices of a waiting task change
// only when one of them got a task. O(waiting tasks) per decision, and devices for those that it
// concerns.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/cancellation.h"
#include "schedulers/planning/ranks.h"
#include "schedulers/policies/online/online_base.h"

namespace dfsim::inline schedulers::policies {
namespace {

enum class PairRule { kDls, kEtf, kMaxmin, kMinmin, kSufferage };

constexpr Bytes kRoomForAll = std::numeric_limits<Bytes>::max();

class ReadyPairs final : public OnlineBase {
 public:
  ReadyPairs(std::string_view name, PairRule rule) : OnlineBase(name), rule_(rule) {}

  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override;

 private:
  struct Waiting {
    TaskId task;
    std::vector<TimeNs> fetch;  // per device
    size_t first = SIZE_MAX;    // the devices of least and second least value
    size_t second = SIZE_MAX;
    double first_value = 0;
    double second_value = 0;
  };

  Status prepare() override;
  TimeNs start_ns(const Waiting& waiting, size_t device, TimeNs now) const {
    return std::max(ahead_[device], now + waiting.fetch[device]);
  }
  // The less, the better.
  double value(const Waiting& waiting, size_t device, TimeNs now) const;
  void refresh(const OnlineView& view, Waiting& waiting);
  // The more, the earlier the task is picked; ties: larger tie_(task), then the smaller id.
  std::pair<double, double> urgency(const Waiting& waiting) const;

  PairRule rule_;
  std::vector<double> level_;   // static level, where the rule looks at it
  std::vector<double> median_;  // of the task's times
  std::vector<Waiting> waiting_;
  std::vector<TimeNs> ahead_;
  std::vector<Bytes> free_;
};

Status ReadyPairs::prepare() {
  waiting_.clear();
  ahead_.assign(tasks().devices(), 0);
  free_.assign(tasks().devices(), kRoomForAll);
  const bool by_level = rule_ == PairRule::kDls || rule_ == PairRule::kEtf;
  level_ = by_level ? static_level(tasks()) : std::vector<double>();
  median_.clear();
  for (size_t i = 0; rule_ == PairRule::kDls && i < tasks().tasks(); ++i) {
    median_.push_back(tasks().median_ns(TaskId(i)));
  }
  return ok_status();
}

double ReadyPairs::value(const Waiting& waiting, size_t device, TimeNs now) const {
  const auto start = static_cast<double>(start_ns(waiting, device, now));
  const auto time = static_cast<double>(tasks().time_ns(waiting.task, device));
  switch (rule_) {
    case PairRule::kDls:
      return start - level_[waiting.task.index()] - (median_[waiting.task.index()] - time);
    case PairRule::kEtf:
      return start;
    case PairRule::kMaxmin:
    case PairRule::kMinmin:
    case PairRule::kSufferage:
      break;
  }
  return start + time;
}

void ReadyPairs::refresh(const OnlineView& view, Waiting& waiting) {
  look_at(view, waiting.task);
  waiting.first = waiting.second = SIZE_MAX;
  for (size_t d = 0; d < ahead_.size(); ++d) {
    if (!tasks().feasible(waiting.task, d) ||
        (free_[d] != kRoomForAll && memory_need(view, d) > free_[d])) {
      continue;
    }
    const double each = value(waiting, d, view.now_ns());
    if (waiting.first == SIZE_MAX || each < waiting.first_value) {
      waiting.second = std::exchange(waiting.first, d);
      waiting.second_value = std::exchange(waiting.first_value, each);
    } else if (waiting.second == SIZE_MAX || each < waiting.second_value) {
      waiting.second = d;
      waiting.second_value = each;
    }
  }
}

std::pair<double, double> ReadyPairs::urgency(const Waiting& waiting) const {
  switch (rule_) {
    case PairRule::kEtf:
      return {-waiting.first_value, level_[waiting.task.index()]};
    case PairRule::kMaxmin:
      return {waiting.first_value, 0};
    case PairRule::kSufferage:
      return {waiting.second == SIZE_MAX ? std::numeric_limits<double>::infinity()
                                         : waiting.second_value - waiting.first_value,
              0};
    case PairRule::kDls:
    case PairRule::kMinmin:
      break;
  }
  return {-waiting.first_value, 0};
}

void ReadyPairs::decide(const OnlineView& view, std::span<const TaskId> newly_ready,
                        std::vector<Decision>& decisions) {
  for (size_t d = 0; d < ahead_.size(); ++d) {
    ahead_[d] = view.available_ns(DeviceId(d));
    const bool limited = tasks().problem().platform.devices[d].memory_bytes > 0;
    free_[d] = limited ? view.free_bytes(DeviceId(d)) : kRoomForAll;
  }
  for (const TaskId task : newly_ready) {
    look_at(view, task);
    waiting_.push_back({task, fetch_all_ns()});
  }
  for (Waiting& waiting : waiting_) {
    refresh(view, waiting);
  }
  while (true) {
    cancellation_point();  // thousands may wait, and each pick looks at all
    auto best = waiting_.end();
    for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
      if (each->first != SIZE_MAX &&
          (best == waiting_.end() || urgency(*each) > urgency(*best) ||
           (urgency(*each) == urgency(*best) && each->task < best->task))) {
        best = each;
      }
    }
    if (best == waiting_.end()) {
      return;  // the others have found no memory
    }
    const size_t device = best->first;
    look_at(view, best->task);
    if (free_[device] != kRoomForAll) {
      free_[device] -= memory_need(view, device);
    }
    ahead_[device] = start_ns(*best, device, view.now_ns()) + tasks().time_ns(best->task, device);
    decisions.push_back({best->task, DeviceId(device)});
    std::swap(*best, waiting_.back());
    waiting_.pop_back();
    for (Waiting& waiting : waiting_) {
      if (waiting.first == device || waiting.second == device) {
        refresh(view, waiting);
      }
    }
  }
}

}  // namespace

OnlinePtr ready_dls(const PolicyOptions&) {
  return std::make_unique<ReadyPairs>("dls", PairRule::kDls);
}
OnlinePtr ready_etf(const PolicyOptions&) {
  return std::make_unique<ReadyPairs>("etf", PairRule::kEtf);
}
OnlinePtr ready_maxmin(const PolicyOptions&) {
  return std::make_unique<ReadyPairs>("maxmin", PairRule::kMaxmin);
}
OnlinePtr ready_minmin(const PolicyOptions&) {
  return std::make_unique<ReadyPairs>("minmin", PairRule::kMinmin);
}
OnlinePtr ready_sufferage(const PolicyOptions&) {
  return std::make_unique<ReadyPairs>("sufferage", PairRule::kSufferage);
}

}  // namespace dfsim::inline schedulers::policies
