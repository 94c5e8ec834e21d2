#include "partition/spmd_program.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "opmodel/workload.h"
#include "partition/collective_steps.h"
#include "partition/collectives.h"

namespace dfsim {
namespace {

CollectiveKind kind_of(const Op& op) {
  return op.op_type == "AllReduce"       ? CollectiveKind::kAllReduce
         : op.op_type == "ReduceScatter" ? CollectiveKind::kReduceScatter
         : op.op_type == "AllToAll"      ? CollectiveKind::kAllToAll
                                         : CollectiveKind::kAllGather;
}

class ProgramMaker {
 public:
  ProgramMaker(const ShardedGraph& sharded, const DeviceMesh& mesh, const Platform& platform,
               CollectiveMode mode)
      : sharded_(sharded), mesh_(mesh), platform_(platform), routes_(platform), mode_(mode) {
    for (const Communication& entry : sharded.report.communications) {
      bytes_[entry.op] = entry.bytes;
    }
  }

  StatusOr<SpmdProgram> run(const CostModel& model) {
    DFSIM_ASSIGN_OR_RETURN(workload_, make_workload(sharded_.graph));
    idle_row_ = static_cast<uint32_t>(workload_.rows.size());
    row_times_.push_back(0);
    const ExecGraph& graph = workload_.graph;
    produced_.resize(graph.task_count());
    for (size_t d = 0; d < graph.data_count(); ++d) {
      produced_[graph.data_producer(DataId(d)).index()].emplace_back(d);
    }
    data_.assign(mesh_.device_count(), std::vector<DataId>(graph.data_count()));
    for (size_t t = 0; t < graph.task_count(); ++t) {
      DFSIM_RETURN_IF_ERROR(add_task(TaskId(t)));
    }
    SpmdProgram program;
    std::vector<uint32_t> order;
    DFSIM_ASSIGN_OR_RETURN(program.graph, builder_.build(&order));
    for (const uint32_t inserted : order) {
      program.device_of.push_back(mesh_.devices()[placed_[inserted]]);
    }
    program.communication_ns = communication_ns_;
    DFSIM_ASSIGN_OR_RETURN(program.costs, cost_table(model));
    return program;
  }

 private:
  // The rows of ops as the model prices them, then those of collectives on all devices alike.
  StatusOr<CostTable> cost_table(const CostModel& model) const {
    DFSIM_ASSIGN_OR_RETURN(const CostTable ops, make_cost_table(workload_.rows, platform_, model));
    CostTable costs(ops.rows() + row_times_.size(), platform_.devices.size());
    for (size_t d = 0; d < platform_.devices.size(); ++d) {
      for (uint32_t row = 0; row < ops.rows(); ++row) {
        costs.at(row, DeviceId(d)) = ops.at(row, DeviceId(d));
      }
      for (size_t i = 0; i < row_times_.size(); ++i) {
        OpCost& cost = costs.at(idle_row_ + static_cast<uint32_t>(i), DeviceId(d));
        cost.time_ns = cost.low_ns = cost.high_ns = row_times_[i];
        cost.source = CostSource::kGiven;
      }
    }
    return costs;
  }

  TaskId new_task(size_t rank, TaskId like, uint32_t row) {
    ExecGraphBuilder::Task task;
    task.cost_row = row;
    task.op = workload_.graph.op(like);
    placed_.push_back(static_cast<uint32_t>(rank));
    return builder_.add_task(std::move(task));
  }

  // A task that waits for the inputs of `like` on that rank.
  TaskId task_with_inputs(size_t rank, TaskId like, uint32_t row) {
    ExecGraphBuilder::Task task;
    task.cost_row = row;
    task.op = workload_.graph.op(like);
    task.resident_bytes = workload_.graph.resident_bytes(like);
    task.workspace_bytes = workload_.graph.workspace_bytes(like);
    placed_.push_back(static_cast<uint32_t>(rank));
    const TaskId id = builder_.add_task(std::move(task));
    for (const uint32_t edge : workload_.graph.in_edge_indices(like)) {
      builder_.add_edge(data_[rank][workload_.graph.edges()[edge].data.index()], id);
    }
    return id;
  }

  Status add_task(TaskId id) {
    const ExecGraph& graph = workload_.graph;
    const Op& op = sharded_.graph.op(graph.op(id));
    std::vector<TaskId> last;
    for (size_t rank = 0; rank < mesh_.device_count(); ++rank) {
      const bool collective = op.op_class == OpClass::kCollective && op.domain == "dfsim";
      last.push_back(task_with_inputs(rank, id, collective ? idle_row_ : graph.cost_row(id)));
    }
    if (op.op_class == OpClass::kCollective && op.domain == "dfsim") {
      DFSIM_RETURN_IF_ERROR(communicate(id, op, &last));
    }
    for (size_t rank = 0; rank < mesh_.device_count(); ++rank) {
      for (const DataId data : produced_[id.index()]) {
        data_[rank][data.index()] =
            builder_.add_data(last[rank], graph.data_bytes(data), graph.data_is_output(data));
      }
    }
    return ok_status();
  }

  // Replaces `last`, the tasks with which each rank enters, by those with which it leaves.
  Status communicate(TaskId id, const Op& op, std::vector<TaskId>* last) {
    const auto axes = static_cast<AxisSet>(op.attributes.int_or("axes", 0));
    const Bytes bytes = bytes_.at(workload_.graph.op(id));
    TimeNs longest = 0;
    for (size_t rank = 0; rank < mesh_.device_count(); ++rank) {
      if (mesh_.position(rank, axes) != 0) {
        continue;
      }
      const std::vector<uint32_t> group = mesh_.group(rank, axes);
      const GroupCosts& costs = costs_of(group);
      TimeNs time_ns = 0;
      DFSIM_ASSIGN_OR_RETURN(const auto rounds, rounds_of(op, bytes, costs, &time_ns));
      longest = std::max(longest, time_ns);
      if (mode_ == CollectiveMode::kModel) {
        wait_for_all(id, group, row_of(time_ns), last);
      } else {
        exchange(group, rounds, last);
      }
    }
    communication_ns_ += longest;
    return ok_status();
  }

  // The messages of a halo exchange are those of its op; others are by the cheapest algorithm.
  StatusOr<std::vector<MessageRound>> rounds_of(const Op& op, Bytes bytes, const GroupCosts& costs,
                                                TimeNs* time_ns) const {
    if (op.op_type != "HaloExchange") {
      const CollectiveKind kind = kind_of(op);
      const CollectiveChoice choice = cheapest_collective(kind, bytes, costs);
      *time_ns = choice.time_ns;
      return collective_rounds(kind, choice.algorithm, bytes, static_cast<uint32_t>(costs.ranks),
                               static_cast<uint32_t>(costs.local_ranks));
    }
    const int64_t before = op.attributes.int_or("before", 0);
    const int64_t after = op.attributes.int_or("after", 0);
    const Bytes slice = bytes / std::max<int64_t>(1, before + after);
    MessageRound round;
    for (uint32_t r = 0; r + 1 < costs.ranks; ++r) {
      if (before > 0) {
        round.push_back({r, r + 1, before * slice});
      }
      if (after > 0) {
        round.push_back({r + 1, r, after * slice});
      }
    }
    const auto most = static_cast<double>(std::max(before, after) * slice);
    *time_ns = static_cast<TimeNs>(costs.ring.alpha_ns + most * costs.ring.beta_ns_per_byte + 0.5);
    return std::vector<MessageRound>{std::move(round)};
  }

  const GroupCosts& costs_of(const std::vector<uint32_t>& group) {
    const auto [it, is_new] = group_costs_.try_emplace(group);
    if (is_new) {
      std::vector<DeviceId> devices;
      for (const uint32_t rank : group) {
        devices.push_back(mesh_.devices()[rank]);
      }
      it->second = group_costs(platform_, routes_, devices);
    }
    return it->second;
  }

  uint32_t row_of(TimeNs time_ns) {
    const auto it = std::find(row_times_.begin() + 1, row_times_.end(), time_ns);
    const auto index = static_cast<uint32_t>(it - row_times_.begin());
    if (it == row_times_.end()) {
      row_times_.push_back(time_ns);
    }
    return idle_row_ + index;
  }

  void wait_for_all(TaskId id, const std::vector<uint32_t>& group, uint32_t row,
                    std::vector<TaskId>* last) {
    std::vector<DataId> ready;
    for (const uint32_t rank : group) {
      ready.push_back(builder_.add_data((*last)[rank], 0));
    }
    for (const uint32_t rank : group) {
      const TaskId task = new_task(rank, id, row);
      for (const DataId data : ready) {
        builder_.add_edge(data, task);
      }
      (*last)[rank] = task;
    }
  }

  void exchange(const std::vector<uint32_t>& group, const std::vector<MessageRound>& rounds,
                std::vector<TaskId>* last) {
    std::vector<TaskId> start;
    for (const uint32_t rank : group) {
      start.push_back((*last)[rank]);
    }
    std::vector<uint32_t> positions;
    const std::vector<TaskId> end = add_collective(builder_, rounds, start, idle_row_, &positions);
    for (const uint32_t position : positions) {
      placed_.push_back(group[position]);
    }
    for (size_t i = 0; i < group.size(); ++i) {
      (*last)[group[i]] = end[i];
    }
  }

  const ShardedGraph& sharded_;
  const DeviceMesh& mesh_;
  const Platform& platform_;
  RouteTable routes_;
  CollectiveMode mode_;
  std::unordered_map<OpId, Bytes> bytes_;  // of communications
  Workload workload_;
  std::vector<std::vector<DataId>> produced_;  // by task of the workload
  std::vector<std::vector<DataId>> data_;      // by rank and data of the workload
  ExecGraphBuilder builder_;
  std::vector<uint32_t> placed_;  // rank by task, in order of creation
  uint32_t idle_row_ = 0;
  std::vector<TimeNs> row_times_;  // from idle_row_ on; the first is 0
  std::map<std::vector<uint32_t>, GroupCosts> group_costs_;
  TimeNs communication_ns_ = 0;
};

}  // namespace

StatusOr<SpmdProgram> make_spmd_program(const ShardedGraph& sharded, const DeviceMesh& mesh,
                                        const Platform& platform, const CostModel& model,
                                        CollectiveMode mode) {
  return ProgramMaker(sharded, mesh, platform, mode).run(model);
}

}  // namespace dfsim
