// Runs one compiled plan and explains its time: busy, communication, waiting and idle shares by
// walking each device's tasks and naming each gap after what its next task waited for last.
#include "study/partitioning/partitioning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <tuple>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

Schedule schedule_of(const SpmdProgram& program) {
  Schedule schedule;
  schedule.order = program.order;
  for (const DeviceId device : program.device_of) {
    schedule.placements.push_back({device, 0, 0});
  }
  // The host follows the devices' programs side by side.
  for (const auto& tasks : program.order) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      schedule.placements[tasks[i].index()].planned_start_ns = static_cast<TimeNs>(i);
    }
  }
  return schedule;
}

std::vector<DeviceId> used_devices(const SpmdProgram& program) {
  std::vector<DeviceId> used;
  for (size_t d = 0; d < program.device_count; ++d) {
    if (!program.order[d].empty()) {
      used.emplace_back(d);
    }
  }
  return used;
}

// Adds up where the time of one device goes: its tasks, and each gap by what the task behind it
// waited for last.
void add_device(const PlanRun& run, const std::vector<TaskId>& order, TimeShares* shares) {
  TimeNs now = 0;
  for (const TaskId task : order) {
    const TaskRecord& record = run.result.tasks[task.index()];
    TimeNs gap = std::max<TimeNs>(0, record.start_ns - now);
    const auto take = [&](WaitReason reason, double* share) {
      const TimeNs part = std::min(gap, record.wait_ns[static_cast<size_t>(reason)]);
      *share += static_cast<double>(part);
      gap -= part;
    };
    take(WaitReason::kHost, &shares->host);
    take(WaitReason::kLink, &shares->communication);
    const TaskKind kind = run.compiled.program.kinds[task.index()];
    // Updates wait for gradients that are exchanged during the backward pass.
    (kind == TaskKind::kUpdate ? shares->communication : shares->bubble) +=
        static_cast<double>(gap);
    (kind != TaskKind::kCommunication ? shares->compute : shares->communication) +=
        static_cast<double>(record.end_ns - record.start_ns);
    now = std::max(now, record.end_ns);
  }
  shares->bubble += static_cast<double>(run.result.makespan_ns - now);
}

TimeShares shares_of(const PlanRun& run) {
  TimeShares shares;
  const std::vector<DeviceId> used = used_devices(run.compiled.program);
  for (const DeviceId device : used) {
    add_device(run, run.compiled.program.order[device.index()], &shares);
  }
  const double total = static_cast<double>(used.size()) *
                       static_cast<double>(std::max<TimeNs>(1, run.result.makespan_ns));
  shares.compute /= total;
  shares.communication /= total;
  shares.host /= total;
  shares.bubble /= total;
  return shares;
}

// The operators' own share: which arm of the roofline most of their time is under.
std::string compute_limit(const PlanRun& run) {
  std::array<double, kBoundCount> time{};
  const SpmdProgram& program = run.compiled.program;
  for (size_t t = 0; t < program.graph.task_count(); ++t) {
    if (program.kinds[t] != TaskKind::kCommunication) {
      const OpCost& cost =
          program.costs.at(program.graph.cost_row(TaskId(t)), program.device_of[t]);
      time[static_cast<size_t>(cost.bound)] += static_cast<double>(cost.time_ns);
    }
  }
  const auto most = std::max_element(time.begin(), time.end()) - time.begin();
  return std::string(bound_name(static_cast<Bound>(most)));
}

double bound_only_part(const SpmdProgram& program) {
  double total = 0;
  double bound_only = 0;
  for (size_t t = 0; t < program.graph.task_count(); ++t) {
    if (program.kinds[t] != TaskKind::kCommunication) {
      const OpCost& cost =
          program.costs.at(program.graph.cost_row(TaskId(t)), program.device_of[t]);
      total += static_cast<double>(cost.time_ns);
      bound_only += cost.source == CostSource::kBoundOnly ? static_cast<double>(cost.time_ns) : 0;
    }
  }
  return total > 0 ? bound_only / total : 0;
}

std::string limit_of(const PlanRun& run, const TimeShares& shares) {
  const double most = std::max({shares.compute, shares.communication, shares.host, shares.bubble});
  return most == shares.compute         ? compute_limit(run)
         : most == shares.communication ? "communication"
         : most == shares.host          ? "host"
                                        : "bubble";
}

}  // namespace

StatusOr<PlanRun> run_plan(const PlanSpec& spec, const Graph& graph, const Platform& platform,
                           const CostModel& model, CollectiveMode mode,
                           const MakeRecorder& record) {
  PlanRun run;
  DFSIM_ASSIGN_OR_RETURN(run.compiled, compile_plan(spec, graph, platform, model, mode));
  const SpmdProgram& program = run.compiled.program;
  const Platform& machine = program.machine;
  SimOptions options;
  options.host_thread_per_device = true;  // a process per device, as frameworks start them
  options.queue_order = QueueOrder::kInOrder;
  options.dispatch_ns = program.dispatch_ns;
  if (bound_only_part(program) == 1) {
    // A run of bare bounds is a lower limit, and host times are estimates.
    std::fill(options.dispatch_ns.begin(), options.dispatch_ns.end(), 0);
  }
  std::unique_ptr<RunRecorder> recorder;
  if (record) {
    DFSIM_ASSIGN_OR_RETURN(recorder, record({program.graph, machine, &run.compiled.sharded.graph,
                                             nullptr, &program.costs}));
  }
  DFSIM_ASSIGN_OR_RETURN(
      run.result, simulate({program.graph, program.costs, machine}, schedule_of(program), options,
                           recorder == nullptr ? nullptr : recorder->listener()));
  if (recorder != nullptr) {
    DFSIM_RETURN_IF_ERROR(recorder->close());
  }
  return run;
}

PlanOutcome measure_plan(const PlanSpec& spec, const PlanRun& run, const Graph& graph,
                         const Platform& platform, const std::string& model, int64_t batch,
                         const PlanOutcome* single) {
  PlanOutcome outcome;
  const SpmdProgram& program = run.compiled.program;
  outcome.name = spec.name;
  const std::vector<DeviceId> used = used_devices(program);
  outcome.devices = used.size() * static_cast<size_t>(program.stands_for);
  outcome.stands_for = program.stands_for;
  outcome.stages =
      static_cast<uint32_t>(run.compiled.layout.groups.size()) * run.compiled.layout.chunks;
  outcome.micro_batches = spec.micro_batches;
  outcome.makespan_ns = run.result.makespan_ns;
  const auto time_ns = static_cast<double>(std::max<TimeNs>(1, outcome.makespan_ns));
  outcome.samples_per_s = static_cast<double>(batch) * static_cast<double>(kNsPerSecond) / time_ns;
  const auto single_ns = static_cast<double>((single == nullptr ? outcome : *single).makespan_ns);
  outcome.speedup = single_ns / time_ns;
  outcome.efficiency = outcome.speedup / static_cast<double>(std::max<size_t>(1, outcome.devices));
  for (const DeviceId device : used) {
    const Bytes peak = run.result.devices[device.index()].peak_memory_bytes;
    if (peak > outcome.memory_bytes) {
      outcome.memory_bytes = peak;
      outcome.resident = program.memory[device.index()];
      outcome.capacity_bytes = program.machine.device(device).memory_bytes;
    }
  }
  outcome.bound_only_share = bound_only_part(program);
  outcome.shares = shares_of(run);
  outcome.limit = limit_of(run, outcome.shares);
  outcome.bytes_moved = run.result.bytes_moved * program.stands_for;
  outcome.training = spec.training;
  outcome.gradient_exchanges = program.gradient_exchanges;
  outcome.gradients_without_rule = run.compiled.gradients_without_rule;
  const ShardingReport& report = run.compiled.sharded.report;
  outcome.communications = report.communications.size();
  for (const ReplicatedOp& op : report.unsplittable) {
    outcome.unsplittable.push_back(fmt::format("{}: {}", op.name, op.reason));
  }
  outcome.kept_whole = spec.kept_whole;
  outcome.replicated_ops = report.replicated.size();
  outcome.replicated_flops = report.source_flops == 0
                                 ? 0
                                 : static_cast<double>(report.all_flops.value()) /
                                           static_cast<double>(report.source_flops) -
                                       1;
  outcome.plan = describe_plan(spec, run.compiled, graph, platform, model, batch);
  return outcome;
}

void rank_plans(std::vector<PlanOutcome>* plans) {
  const auto key = [](const PlanOutcome& plan) {
    return !plan.status.ok() ? 2 : plan.fits() ? 0 : 1;
  };
  std::stable_sort(plans->begin(), plans->end(), [&](const PlanOutcome& a, const PlanOutcome& b) {
    return std::make_tuple(key(a), a.is_limit(), a.makespan_ns, a.name) <
           std::make_tuple(key(b), b.is_limit(), b.makespan_ns, b.name);
  });
}

}  // namespace dfsim::inline study
