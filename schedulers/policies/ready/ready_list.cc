// List policies that decide at the moment a task becomes ready. The rule of the policy gives
// priority and device; this file estimates arrivals, keeps the gaps of devices, and books links
// where transfers queue for them.
#include "schedulers/policies/ready/ready_list.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "schedulers/planning/gap_list.h"
#include "schedulers/planning/link_booking.h"
#include "schedulers/policies/online/online_base.h"

namespace dfsim::inline schedulers::policies {
namespace {

constexpr Bytes kAnyMemory = std::numeric_limits<Bytes>::max();

class ReadyList final : public OnlineBase {
 public:
  ReadyList(std::string_view name, MakeReadyRule make, PolicyOptions options)
      : OnlineBase(name), make_(make), options_(std::move(options)) {}

  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override;

 private:
  struct Choice {
    size_t device = SIZE_MAX;
    TimeNs start = 0;
  };
  // The policy's view of one device.
  struct Line {
    GapList gaps;
    std::vector<TimeNs> starts;  // of the tasks decided for it, ascending
    TimeNs ahead = 0;  // the machine's word on when it is free, with this call's decisions
    Bytes free = kAnyMemory;
  };

  Status prepare() override;
  void look_at_devices(const OnlineView& view);
  void estimate_arrivals(const OnlineView& view, TaskId task);
  bool takes(const OnlineView& view, TaskId task, size_t device) const {
    return tasks().feasible(task, device) &&
           (lines_[device].free == kAnyMemory || memory_need(view, device) <= lines_[device].free);
  }
  TimeNs start_on(size_t device, TaskId task) const;
  Choice choose(const OnlineView& view, TaskId task);
  bool decide_one(const OnlineView& view, TaskId task, std::vector<Decision>& decisions);
  void book_links(const OnlineView& view, TaskId task, size_t device);

  MakeReadyRule make_;
  PolicyOptions options_;
  ReadyRule rule_;
  std::optional<LinkBooking> links_;
  std::vector<Line> lines_;
  std::vector<TaskId> waiting_;  // by priority; those held back have found no memory
  std::vector<TimeNs> arrival_;  // per device, of the task being looked at
  std::vector<TimeNs> sent_;     // from * devices + to: end of its transfers over the route
  std::vector<TimeNs> ends_;
};

Status ReadyList::prepare() {
  rule_ = make_(tasks(), options_);
  waiting_.clear();
  lines_.clear();
  for (size_t d = 0; d < tasks().devices(); ++d) {
    lines_.push_back({GapList(tasks().shortest_on(d)), {}, 0, kAnyMemory});
  }
  links_.reset();
  if (rule_.knows_links) {
    links_.emplace(tasks().problem().platform);
  }
  arrival_.assign(tasks().devices(), 0);
  ends_.assign(tasks().devices(), 0);
  return ok_status();
}

void ReadyList::look_at_devices(const OnlineView& view) {
  for (size_t d = 0; d < lines_.size(); ++d) {
    const bool limited = tasks().problem().platform.devices[d].memory_bytes > 0;
    lines_[d].ahead = view.available_ns(DeviceId(d));
    lines_[d].free = limited ? view.free_bytes(DeviceId(d)) : kAnyMemory;
  }
}

void ReadyList::estimate_arrivals(const OnlineView& view, TaskId task) {
  const TimeNs now = view.now_ns();
  const CommModel& comm = tasks().problem().comm;
  std::ranges::fill(arrival_, now);
  if (links_.has_value()) {
    sent_.assign(lines_.size() * lines_.size(), 0);
  }
  for (const TaskInputs::Input& input : inputs_of(task)) {
    const DeviceId from = view.device_of(input.from);
    for (size_t d = 0; d < lines_.size() && input.bytes > 0; ++d) {
      if (!links_.has_value()) {
        arrival_[d] = std::max(arrival_[d], now + comm.transfer_ns(from, DeviceId(d), input.bytes));
      } else if (from.index() != d) {
        TimeNs& sent = sent_[from.index() * lines_.size() + d];
        sent = (sent == 0 ? links_->free_from(from, DeviceId(d), now) : sent) +
               links_->occupancy(from, DeviceId(d), input.bytes);
        arrival_[d] = std::max(arrival_[d], sent + links_->latency(from, DeviceId(d)));
      }
    }
  }
}

// Into a gap, or behind everything, where the machine may be later than was expected.
TimeNs ReadyList::start_on(size_t device, TaskId task) const {
  const Line& line = lines_[device];
  const TimeNs start = line.gaps.first_fit(arrival_[device], tasks().time_ns(task, device));
  return start < line.gaps.end_ns() ? start : std::max(start, line.ahead);
}

ReadyList::Choice ReadyList::choose(const OnlineView& view, TaskId task) {
  if (rule_.prefer) {
    const DeviceId preferred = rule_.prefer(task, view);
    if (preferred.valid() && takes(view, task, preferred.index())) {
      return {preferred.index(), start_on(preferred.index(), task)};
    }
  }
  for (size_t d = 0; rule_.score && d < lines_.size(); ++d) {
    ends_[d] = std::max(lines_[d].gaps.end_ns(), lines_[d].ahead);
  }
  Choice best;
  double least = std::numeric_limits<double>::infinity();
  for (size_t d = 0; d < lines_.size(); ++d) {
    if (!takes(view, task, d)) {
      continue;
    }
    const TimeNs start = start_on(d, task);
    const TimeNs finish = start + tasks().time_ns(task, d);
    const double score =
        rule_.score ? rule_.score(task, d, finish, ends_) : static_cast<double>(finish);
    if (best.device == SIZE_MAX || score < least) {
      best = {d, start};
      least = score;
    }
  }
  return best;
}

void ReadyList::book_links(const OnlineView& view, TaskId task, size_t device) {
  for (const TaskInputs::Input& input : inputs_of(task)) {
    links_->book(view.device_of(input.from), DeviceId(device), view.now_ns(), input.bytes);
  }
}

bool ReadyList::decide_one(const OnlineView& view, TaskId task, std::vector<Decision>& decisions) {
  look_at(view, task);
  estimate_arrivals(view, task);
  const Choice choice = choose(view, task);
  if (choice.device == SIZE_MAX) {
    return false;
  }
  Line& line = lines_[choice.device];
  const TimeNs time = tasks().time_ns(task, choice.device);
  if (line.free != kAnyMemory) {
    line.free -= memory_need(view, choice.device);
  }
  if (links_.has_value()) {
    book_links(view, task, choice.device);
  }
  line.gaps.occupy(choice.start, time);
  line.ahead += time;
  const auto behind = std::ranges::upper_bound(line.starts, choice.start);
  const auto passes = static_cast<uint32_t>(line.starts.end() - behind);
  line.starts.insert(behind, choice.start);
  decisions.push_back({task, DeviceId(choice.device), passes});
  return true;
}

void ReadyList::decide(const OnlineView& view, std::span<const TaskId> newly_ready,
                       std::vector<Decision>& decisions) {
  const auto priority = [this](TaskId task) { return rule_.priority[task.index()]; };
  waiting_.insert(waiting_.end(), newly_ready.begin(), newly_ready.end());
  if (waiting_.empty()) {
    return;
  }
  std::ranges::stable_sort(waiting_, std::greater<>(), priority);
  look_at_devices(view);
  std::erase_if(waiting_, [&](TaskId task) { return decide_one(view, task, decisions); });
}

}  // namespace

OnlinePtr ready_list(std::string_view name, MakeReadyRule make, const PolicyOptions& options) {
  return std::make_unique<ReadyList>(name, make, options);
}

}  // namespace dfsim::inline schedulers::policies
