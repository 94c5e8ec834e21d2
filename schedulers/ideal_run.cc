// An event loop of its own on an ideal machine: every transfer takes its idle time and a device
// runs one task at a time. Online policies see it through OnlineView as they see the simulator;
// the result is the plan that their decisions amount to.
#include "schedulers/ideal_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/text.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/planning/task_inputs.h"
#include "schedulers/planning/task_view.h"
#include "schedulers/policies/online/online_base.h"

namespace dfsim::inline schedulers {
namespace {

constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();
constexpr size_t kCostsPerLine = 64 / sizeof(OpCost);  // of a cache
constexpr size_t kFetchedAhead = 8;

// Tracks which device holds which data when some device's memory is limited. A data item takes room
// where it is produced and where it is sent, from the decision until its last reader has finished.
class IdealMemory {
 public:
  explicit IdealMemory(const SchedulingProblem& problem) : problem_(problem) {
    for (const DeviceSpec& device : problem.platform.devices) {
      limited_ = limited_ || device.memory_bytes > 0;
    }
    if (!limited_) {
      return;
    }
    used_.assign(problem.platform.devices.size(), 0);
    holders_.resize(problem.graph.data_count());
    readers_.assign(problem.graph.data_count(), 0);
    for (const Edge& edge : problem.graph.edges()) {
      ++readers_[edge.data.index()];
    }
  }

  Bytes free_bytes(DeviceId device) const {
    const Bytes capacity = problem_.platform.device(device).memory_bytes;
    return !limited_ || capacity == 0 ? std::numeric_limits<Bytes>::max()
                                      : capacity - used_[device.index()];
  }
  void decided(TaskId task, DeviceId device) {
    if (!limited_) {
      return;
    }
    used_[device.index()] += problem_.graph.resident_bytes(task);
    for (const Edge& edge : problem_.graph.out_edges(task)) {
      hold(edge.data, device);
    }
    for (const uint32_t e : problem_.graph.in_edge_indices(task)) {
      hold(problem_.graph.edges()[e].data, device);
    }
  }
  void finished(TaskId task) {
    if (!limited_) {
      return;
    }
    for (const uint32_t e : problem_.graph.in_edge_indices(task)) {
      const DataId data = problem_.graph.edges()[e].data;
      if (--readers_[data.index()] == 0 && !problem_.graph.data_is_output(data)) {
        for (const DeviceId device : holders_[data.index()]) {
          used_[device.index()] -= problem_.graph.data_bytes(data);
        }
        holders_[data.index()].clear();
      }
    }
  }

 private:
  void hold(DataId data, DeviceId device) {
    std::vector<DeviceId>& holders = holders_[data.index()];
    if (std::ranges::find(holders, device) == holders.end()) {
      holders.push_back(device);
      used_[device.index()] += problem_.graph.data_bytes(data);
    }
  }

  const SchedulingProblem& problem_;
  bool limited_ = false;
  std::vector<Bytes> used_;
  std::vector<std::vector<DeviceId>> holders_;
  std::vector<uint32_t> readers_;
};

class IdealRun final : public OnlineView {
 public:
  IdealRun(const SchedulingProblem& problem, const TaskInputs& inputs);

  StatusOr<Schedule> run(OnlineScheduler& policy);

  TimeNs now_ns() const override { return now_; }
  TimeNs available_ns(DeviceId device) const override {
    return std::max(now_, available_[device.index()]);
  }
  size_t unfinished_tasks(DeviceId device) const override {
    return schedule_.order[device.index()].size() - head_[device.index()];
  }
  Bytes free_bytes(DeviceId device) const override { return memory_.free_bytes(device); }
  bool has_data(DataId data, DeviceId device) const override;
  DeviceId device_of(TaskId task) const override { return device_[task.index()]; }

 private:
  static uint64_t key(DataId data, DeviceId device) {
    return uint64_t{data.value()} << 32 | device.value();
  }
  TimeNs arrival(const TaskInputs::Input& input, DeviceId device);
  Status apply(const Decision& decision);
  void append(TaskId task, DeviceId device, TimeNs there);
  void insert(TaskId task, DeviceId device, TimeNs there, uint32_t passes);
  TimeNs time_ns(TaskId task, DeviceId device) const {
    return problem_.costs.time_ns(problem_.graph.cost_row(task), device);
  }
  // Advances to the next finish; false when nothing is running.
  bool advance();
  void finish_tasks(size_t device);
  void make_ready(TaskId task) {
    newly_ready_.push_back(task);
    // apply() will ask for one of its times: in large graphs they are far away by then.
    const OpCost* costs = &problem_.costs.at(problem_.graph.cost_row(task), DeviceId(size_t{0}));
    for (size_t d = 0; d < std::min(available_.size(), kFetchedAhead); d += kCostsPerLine) {
      __builtin_prefetch(costs + d);
    }
  }
  void update_next_finish(size_t device) {
    const std::vector<TaskId>& order = schedule_.order[device];
    next_finish_[device] =
        head_[device] < order.size()
            ? schedule_.placements[order[head_[device]].index()].planned_finish_ns
            : kNever;
  }

  const SchedulingProblem& problem_;
  const TaskInputs& inputs_;
  DependencyCounter counter_;
  IdealMemory memory_;
  Schedule schedule_;
  TimeNs now_ = 0;
  std::vector<TimeNs> available_;
  std::vector<DeviceId> device_;     // by task
  std::vector<size_t> head_;         // per device: first unfinished position of its order
  std::vector<TimeNs> next_finish_;  // per device: of that task
  std::vector<uint8_t> ready_;
  std::vector<TaskId> newly_ready_;
  std::vector<uint8_t> shared_;  // per data item: more than one reader
  bool any_shared_ = false;
  std::unordered_map<uint64_t, TimeNs> arrivals_;  // of shared items
  size_t decided_ = 0;
};

IdealRun::IdealRun(const SchedulingProblem& problem, const TaskInputs& inputs)
    : problem_(problem),
      inputs_(inputs),
      counter_(problem.graph),
      memory_(problem),
      available_(problem.platform.devices.size(), 0),
      device_(problem.graph.task_count()),
      head_(problem.platform.devices.size(), 0),
      next_finish_(problem.platform.devices.size(), kNever),
      ready_(problem.graph.task_count(), 0),
      shared_(problem.graph.data_count(), 0) {
  schedule_.placements.resize(problem.graph.task_count());
  schedule_.order.resize(problem.platform.devices.size());
  std::vector<uint8_t> read(problem.graph.data_count(), 0);
  for (const Edge& edge : problem.graph.edges()) {
    shared_[edge.data.index()] = read[edge.data.index()];
    any_shared_ = any_shared_ || read[edge.data.index()] != 0;
    read[edge.data.index()] = 1;
  }
}

bool IdealRun::has_data(DataId data, DeviceId device) const {
  const TaskId producer = problem_.graph.data_producer(data);
  const Placement& made = schedule_.placements[producer.index()];
  if (made.device == device) {
    return made.planned_finish_ns <= now_;
  }
  const auto sent = arrivals_.find(key(data, device));
  return sent != arrivals_.end() && sent->second <= now_;
}

TimeNs IdealRun::arrival(const TaskInputs::Input& input, DeviceId device) {
  const DeviceId source = device_[input.from.index()];
  if (source == device || input.bytes == 0) {
    return now_;
  }
  const TimeNs there = now_ + problem_.comm.transfer_ns(source, device, input.bytes);
  if (!any_shared_ || shared_[input.data.index()] == 0) {
    return there;
  }
  return arrivals_.try_emplace(key(input.data, device), there).first->second;
}

Status IdealRun::apply(const Decision& decision) {
  const ExecGraph& graph = problem_.graph;
  const auto bad = [&](std::string_view why) {
    return failed(fmt::format("the policy put task '{}' on device {}: {}",
                              printable(graph.name(decision.task)), decision.device.value(), why));
  };
  if (decision.task.index() >= graph.task_count() || decision.device.index() >= available_.size()) {
    return failed(fmt::format("the policy decided on task {} and device {}, which do not exist",
                              decision.task.value(), decision.device.value()));
  }
  if (ready_[decision.task.index()] != 1) {
    return bad(ready_[decision.task.index()] == 0 ? "it is not ready" : "it was decided before");
  }
  if (time_ns(decision.task, decision.device) < 0) {
    return bad("it cannot run there");
  }
  TimeNs there = now_;
  for (const TaskInputs::Input& input : inputs_.of(decision.task)) {
    there = std::max(there, arrival(input, decision.device));
  }
  counter_.fetch_ahead(decision.task);
  memory_.decided(decision.task, decision.device);
  ready_[decision.task.index()] = 2;
  ++decided_;
  device_[decision.task.index()] = decision.device;
  if (decision.passes == 0) {
    append(decision.task, decision.device, there);
  } else {
    insert(decision.task, decision.device, there, decision.passes);
  }
  return ok_status();
}

void IdealRun::append(TaskId task, DeviceId device, TimeNs there) {
  const TimeNs start = std::max(available_ns(device), there);
  const TimeNs finish = start + time_ns(task, device);
  available_[device.index()] = finish;
  schedule_.placements[task.index()] = {device, start, finish};
  schedule_.order[device.index()].push_back(task);
  if (next_finish_[device.index()] == kNever) {
    next_finish_[device.index()] = finish;
  }
  schedule_.planned_makespan_ns = std::max(schedule_.planned_makespan_ns, finish);
}

// Ahead of the last `passes` tasks of the device that have not started. Those that were to start
// before it ends start when the task before them has ended; the others keep their starts, which
// waited for their data.
void IdealRun::insert(TaskId task, DeviceId device, TimeNs there, uint32_t passes) {
  std::vector<TaskId>& order = schedule_.order[device.index()];
  const size_t head = head_[device.index()];
  size_t position = order.size();
  const auto starts = [&](size_t at) {
    return schedule_.placements[order[at].index()].planned_start_ns;
  };
  while (position > head && passes-- > 0 && starts(position - 1) > now_) {
    --position;
  }
  if (position == order.size()) {
    return append(task, device, there);
  }
  const TimeNs free =
      position > head ? schedule_.placements[order[position - 1].index()].planned_finish_ns : now_;
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(position), task);
  TimeNs earliest = std::max({now_, free, there});
  for (size_t i = position; i < order.size(); ++i) {
    Placement& placement = schedule_.placements[order[i].index()];
    if (i > position && placement.planned_start_ns >= earliest) {
      break;
    }
    const TimeNs finish = earliest + time_ns(order[i], device);
    placement = {device, earliest, finish};
    schedule_.planned_makespan_ns = std::max(schedule_.planned_makespan_ns, finish);
    available_[device.index()] = std::max(available_[device.index()], finish);
    earliest = finish;
  }
  update_next_finish(device.index());
}

bool IdealRun::advance() {
  // Which device is next is a coin toss to the processor: found without branches, and the others,
  // which hardly ever finish at the same instant, looked at afterwards.
  size_t first = 0;
  for (size_t d = 1; d < next_finish_.size(); ++d) {
    const size_t earlier = next_finish_[d] < next_finish_[first] ? SIZE_MAX : 0;
    first ^= (first ^ d) & earlier;
  }
  if (next_finish_[first] == kNever) {
    return false;
  }
  now_ = next_finish_[first];
  finish_tasks(first);
  for (size_t d = 0; d < head_.size(); ++d) {
    finish_tasks(d);
  }
  return true;
}

// Those that end now.
void IdealRun::finish_tasks(size_t d) {
  while (next_finish_[d] == now_) {
    const TaskId task = schedule_.order[d][head_[d]++];
    update_next_finish(d);
    memory_.finished(task);
    counter_.done(task, [this](TaskId successor) { make_ready(successor); });
  }
}

StatusOr<Schedule> IdealRun::run(OnlineScheduler& policy) {
  std::vector<Decision> decisions;
  counter_.start([this](TaskId task) { make_ready(task); });
  do {
    std::ranges::sort(newly_ready_);
    for (const TaskId task : newly_ready_) {
      ready_[task.index()] = 1;
    }
    decisions.clear();
    policy.decide(*this, newly_ready_, decisions);
    newly_ready_.clear();
    for (const Decision& decision : decisions) {
      DFSIM_RETURN_IF_ERROR(apply(decision));
    }
  } while (advance());
  if (decided_ != problem_.graph.task_count()) {
    return failed(fmt::format(
        "policy '{}' left {} of {} tasks undecided with nothing running (does everything fit into "
        "the memories?)",
        policy.name(), problem_.graph.task_count() - decided_, problem_.graph.task_count()));
  }
  return std::move(schedule_);
}

}  // namespace

StatusOr<Schedule> ideal_run(const SchedulingProblem& problem, OnlineScheduler& policy) {
  DFSIM_RETURN_IF_ERROR(check_problem(problem));
  const TaskInputs inputs(problem.graph);
  // dfsim's own policies need not check and gather again what is known here.
  auto* own = dynamic_cast<policies::OnlineBase*>(&policy);
  DFSIM_RETURN_IF_ERROR(own != nullptr ? own->begin_checked(problem, inputs)
                                       : policy.begin(problem));
  return IdealRun(problem, inputs).run(policy);
}

}  // namespace dfsim::inline schedulers
