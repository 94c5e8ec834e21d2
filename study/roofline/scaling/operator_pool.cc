// Schedules the model with the simulator, on a copy of the machine that has a queue per worker and
// a host that costs nothing.
#include "study/roofline/scaling/operator_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "study/chain/model_run.h"

namespace dfsim::inline study {
namespace {

// Rounds of finding times and operators at once: further ones change nothing to speak of.
constexpr int kRounds = 6;

// Answers with given times, whatever the device. `rows` outlives it.
class GivenTimes final : public CostModel {
 public:
  GivenTimes(const std::vector<OpDescriptor>& rows, const std::vector<TimeNs>& times)
      : rows_(rows), times_(times) {}

  std::string_view name() const override { return "given"; }

  Status predict(std::span<const OpDescriptor> ops, const DeviceSpec& /*device*/,
                 std::span<OpCost> out) const override {
    if (ops.size() != rows_.size()) {
      return failed(
          fmt::format("{} operators, expected the {} of the model", ops.size(), rows_.size()));
    }
    for (size_t i = 0; i < ops.size(); ++i) {
      out[i].time_ns = out[i].low_ns = out[i].high_ns = times_[i];
      out[i].source = CostSource::kExtrapolated;
    }
    return ok_status();
  }

 private:
  const std::vector<OpDescriptor>& rows_;
  const std::vector<TimeNs>& times_;
};

// One device with that many queues, and a host without costs.
Platform pool_platform(const Platform& platform, int64_t workers) {
  Platform pool = platform;
  pool.devices.resize(1);
  pool.devices.front().queues = static_cast<int>(workers);
  RuntimeSpec& runtime = pool.runtime;
  runtime.inter_op_workers = static_cast<int>(workers);
  runtime.dispatch_threads = static_cast<int>(workers);
  runtime.streams = static_cast<int>(workers);
  runtime.dispatch = {};
  runtime.dispatch_ns = runtime.view_dispatch_ns = runtime.run_overhead_ns = runtime.gap_ns = 0;
  return pool;
}

std::vector<TimeNs> row_times(const RooflineReport& scaled, const Workload& workload) {
  std::vector<TimeNs> times(workload.rows.size(), 0);
  for (const RoofPoint& op : scaled.ops) {
    times[workload.graph.cost_row(TaskId(op.task))] = ns_from_seconds(op.time_s);
  }
  return times;
}

// The network's time is the schedule's, and its roofs those of all cores of a copy at once.
void place_network(const DeviceRoofs& whole, const CoreShare& share, const ThreadScaling& scaling,
                   const PoolTime& time, RooflineReport* report) {
  const auto inter = static_cast<double>(share.inter);
  const double part = shared_device(whole.device, share, scaling).memory_bytes_per_s;
  const double copy = copy_bytes_per_s(whole.device, share, scaling.core_bytes_per_s);
  RoofPoint& network = report->network;
  network.time_s = time.makespan_s;
  network.conversion_s /= time.at_once;
  network.compute_s /= inter;
  network.memory_s *= part / copy;
  network.bound_s = 0;
  for (const RoofPoint& op : report->ops) {
    network.bound_s += std::max(op.compute_s / inter, op.memory_s * part / copy);
  }
  network.roof_flops_per_s = network.bound_s > 0 ? network.flops / network.bound_s : 0;
}

}  // namespace

StatusOr<PoolTime> pool_time(const LoadedModel& model, const Platform& platform,
                             const std::vector<TimeNs>& times, int64_t workers) {
  const Platform pool = pool_platform(platform, workers);
  const GivenTimes costs(model.workload.rows, times);
  DFSIM_ASSIGN_OR_RETURN(const ModelRun run, ModelRun::prepare(model, pool, costs));
  DFSIM_ASSIGN_OR_RETURN(const SimulatedModel simulated, run.simulate());
  double busy_s = 0;
  for (size_t t = 0; t < model.workload.graph.task_count(); ++t) {
    busy_s += static_cast<double>(times[model.workload.graph.cost_row(TaskId(t))]) / kNsPerSecond;
  }
  PoolTime time;
  time.makespan_s = static_cast<double>(simulated.result.makespan_ns) / kNsPerSecond;
  time.at_once = time.makespan_s > 0 ? std::max(busy_s / time.makespan_s, 1.0) : 1;
  return time;
}

StatusOr<RooflineReport> pooled_roofline(const RooflineReport& one, const LoadedModel& model,
                                         const Platform& platform, const DeviceRoofs& whole,
                                         CoreShare share, const ThreadScaling& scaling) {
  RooflineReport report;
  PoolTime time;
  for (int round = 0; round < kRounds; ++round) {
    share.at_once = time.at_once;
    report = scaled_roofline(one, whole, share, scaling);
    DFSIM_ASSIGN_OR_RETURN(
        time, pool_time(model, platform, row_times(report, model.workload), share.inter));
  }
  place_network(whole, share, scaling, time, &report);
  report.pool = fmt::format(
      "{} operators at once at most, {:.2f} in the mean, {} each; without the costs of the pool",
      share.inter, time.at_once,
      share.threads == 1 ? "1 thread" : fmt::format("{} threads", share.threads));
  return report;
}

}  // namespace dfsim::inline study
