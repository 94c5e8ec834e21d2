#include "partition/spmd_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "opmodel/workload.h"
#include "partition/group_cost_cache.h"

namespace dfsim {
namespace {

class ProgramMaker {
 public:
  ProgramMaker(const ShardedGraph& sharded, const DeviceMesh& mesh, const ProgramLayout& layout,
               const Platform& platform, CollectiveMode mode)
      : sharded_(sharded),
        mesh_(mesh),
        layout_(layout),
        platform_(platform),
        groups_(platform),
        mode_(mode) {
    for (const Communication& entry : sharded.report.communications) {
      bytes_[entry.op] = entry.bytes;
    }
  }

  StatusOr<SpmdProgram> run(const CostModel& model) {
    DFSIM_RETURN_IF_ERROR(check());
    DFSIM_ASSIGN_OR_RETURN(workload_, make_workload(sharded_.graph));
    op_dispatch_ns_ = dispatch_times(workload_, platform_.runtime);
    idle_row_ = static_cast<uint32_t>(workload_.rows.size());
    row_times_.push_back(0);
    const ExecGraph& graph = workload_.graph;
    produced_.resize(graph.task_count());
    for (size_t d = 0; d < graph.data_count(); ++d) {
      produced_[graph.data_producer(DataId(d)).index()].emplace_back(d);
    }
    for (micro_batch_ = 0; micro_batch_ < layout_.micro_batches; ++micro_batch_) {
      data_.assign(mesh_.device_count(), std::vector<DataId>(graph.data_count()));
      for (size_t t = 0; t < graph.task_count(); ++t) {
        DFSIM_RETURN_IF_ERROR(add_task(TaskId(t)));
      }
    }
    return finish(model);
  }

 private:
  struct Made {
    DeviceId device;
    uint32_t stage = 0;
    uint32_t micro_batch = 0;
    TaskKind kind = TaskKind::kCompute;
    TimeNs dispatch_ns = 0;
  };

  Status check() const {
    const size_t stages = layout_.groups.size() * layout_.chunks;
    if (layout_.stage_of.size() != sharded_.graph.op_count() || stages == 0) {
      return invalid_input(fmt::format("layout: stages of {} operators, the graph has {}",
                                       layout_.stage_of.size(), sharded_.graph.op_count()));
    }
    for (const uint32_t stage : layout_.stage_of) {
      if (stage >= stages) {
        return invalid_input(fmt::format("layout: stage {}, there are {}", stage, stages));
      }
    }
    for (const auto& replicas : layout_.groups) {
      for (const auto& devices : replicas) {
        if (devices.size() != mesh_.device_count()) {
          return invalid_input(fmt::format("layout: a stage on {} devices, the mesh has {}",
                                           devices.size(), mesh_.device_count()));
        }
        DFSIM_RETURN_IF_ERROR(groups_.check_connected(devices));
      }
      if (replicas.empty()) {
        return invalid_input("layout: a stage without devices");
      }
    }
    return check_pipeline(shape());
  }

  PipelineShape shape() const {
    return {layout_.schedule, static_cast<uint32_t>(layout_.groups.size()), layout_.chunks,
            layout_.micro_batches, false};
  }

  StatusOr<SpmdProgram> finish(const CostModel& model) {
    SpmdProgram program;
    std::vector<uint32_t> order;
    DFSIM_ASSIGN_OR_RETURN(program.graph, builder_.build(&order));
    std::vector<const Made*> made;
    for (const uint32_t inserted : order) {
      made.push_back(&made_[inserted]);
      program.device_of.push_back(made_[inserted].device);
      program.kinds.push_back(made_[inserted].kind);
      program.dispatch_ns.push_back(made_[inserted].dispatch_ns);
    }
    program.order = device_orders(made);
    program.communication_ns = communication_ns_;
    DFSIM_ASSIGN_OR_RETURN(program.costs, cost_table(model));
    return program;
  }

  // Each device takes its tasks by the steps of the schedule, and those of a step by id.
  std::vector<std::vector<TaskId>> device_orders(const std::vector<const Made*>& made) const {
    const auto groups = static_cast<uint32_t>(layout_.groups.size());
    std::vector<std::vector<uint32_t>> position(groups * layout_.chunks);  // by stage, micro-batch
    for (uint32_t group = 0; group < groups; ++group) {
      uint32_t next = 0;
      for (const PipelineStep& step : pipeline_steps(shape(), group)) {
        auto& of_stage = position[step.chunk * groups + group];
        of_stage.resize(layout_.micro_batches);
        of_stage[step.micro_batch] = next++;
      }
    }
    std::vector<std::vector<TaskId>> orders(platform_.devices.size());
    for (size_t t = 0; t < made.size(); ++t) {
      orders[made[t]->device.index()].emplace_back(t);
    }
    for (auto& tasks : orders) {
      std::stable_sort(tasks.begin(), tasks.end(), [&](TaskId a, TaskId b) {
        const Made& x = *made[a.index()];
        const Made& y = *made[b.index()];
        return position[x.stage][x.micro_batch] < position[y.stage][y.micro_batch];
      });
    }
    return orders;
  }

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

  uint32_t stage_of(TaskId like) const {
    return layout_.stage_of[workload_.graph.op(like).index()];
  }
  const std::vector<std::vector<DeviceId>>& replicas(uint32_t stage) const {
    return layout_.groups[stage % layout_.groups.size()];
  }
  // The devices that run that task for the micro-batch at hand, by rank.
  const std::vector<DeviceId>& devices(TaskId like) const {
    const auto& all = replicas(stage_of(like));
    return all[micro_batch_ % all.size()];
  }

  TaskId new_task(ExecGraphBuilder::Task task, size_t rank, TaskId like, TaskKind kind,
                  TimeNs dispatch_ns) {
    task.op = workload_.graph.op(like);
    made_.push_back({devices(like)[rank], stage_of(like), micro_batch_, kind, dispatch_ns});
    return builder_.add_task(std::move(task));
  }

  // A task that waits for the inputs of `like` on that rank.
  TaskId task_with_inputs(size_t rank, TaskId like, uint32_t row, TaskKind kind) {
    ExecGraphBuilder::Task task;
    task.cost_row = row;
    // Later micro-batches find the weights there.
    const bool first = micro_batch_ < replicas(stage_of(like)).size();
    task.resident_bytes = first ? workload_.graph.resident_bytes(like) : 0;
    task.workspace_bytes = workload_.graph.workspace_bytes(like);
    const TimeNs dispatch_ns =
        op_dispatch_ns_.empty() ? platform_.runtime.dispatch_ns : op_dispatch_ns_[like.index()];
    const TaskId id = new_task(std::move(task), rank, like, kind, dispatch_ns);
    for (const uint32_t edge : workload_.graph.in_edge_indices(like)) {
      builder_.add_edge(data_[rank][workload_.graph.edges()[edge].data.index()], id);
    }
    return id;
  }

  Status add_task(TaskId id) {
    const ExecGraph& graph = workload_.graph;
    const Op& op = sharded_.graph.op(graph.op(id));
    const bool collective = op.op_class == OpClass::kCollective && op.domain == "dfsim";
    std::vector<TaskId> last;
    for (size_t rank = 0; rank < mesh_.device_count(); ++rank) {
      last.push_back(task_with_inputs(rank, id, collective ? idle_row_ : graph.cost_row(id),
                                      collective ? TaskKind::kCommunication : TaskKind::kCompute));
    }
    if (collective) {
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
      std::vector<DeviceId> there;
      for (const uint32_t member : group) {
        there.push_back(devices(id)[member]);
      }
      const GroupCosts& costs = groups_.of(there);
      const TimeNs time_ns = collective_op_ns(op, bytes, costs);
      longest = std::max(longest, time_ns);
      if (mode_ == CollectiveMode::kModel) {
        wait_for_all(id, group, row_of(time_ns), last);
      } else {
        DFSIM_ASSIGN_OR_RETURN(const CollectivePlan plan, plan_collective(op, bytes, costs));
        exchange(id, group, plan, last);
      }
    }
    communication_ns_ += longest;
    return ok_status();
  }

  uint32_t row_of(TimeNs time_ns) {
    const auto [it, is_new] = row_of_time_.try_emplace(time_ns, row_times_.size());
    if (is_new) {
      row_times_.push_back(time_ns);
    }
    return idle_row_ + static_cast<uint32_t>(it->second);
  }

  void wait_for_all(TaskId id, const std::vector<uint32_t>& group, uint32_t row,
                    std::vector<TaskId>* last) {
    std::vector<DataId> ready;
    for (const uint32_t rank : group) {
      ready.push_back(builder_.add_data((*last)[rank], 0));
    }
    for (const uint32_t rank : group) {
      ExecGraphBuilder::Task task;
      task.cost_row = row;
      const TaskId made = new_task(std::move(task), rank, id, TaskKind::kCommunication, 0);
      for (const DataId data : ready) {
        builder_.add_edge(data, made);
      }
      (*last)[rank] = made;
    }
  }

  void exchange(TaskId id, const std::vector<uint32_t>& group, const CollectivePlan& plan,
                std::vector<TaskId>* last) {
    if (plan.extra_ns > 0) {
      wait_for_all(id, group, row_of(plan.extra_ns), last);
    }
    std::vector<TaskId> start;
    for (const uint32_t rank : group) {
      start.push_back((*last)[rank]);
    }
    std::vector<uint32_t> positions;
    const std::vector<TaskId> end =
        add_collective(builder_, plan.rounds, start, idle_row_, &positions);
    for (const uint32_t position : positions) {
      made_.push_back(
          {devices(id)[group[position]], stage_of(id), micro_batch_, TaskKind::kCommunication, 0});
    }
    for (size_t i = 0; i < group.size(); ++i) {
      (*last)[group[i]] = end[i];
    }
  }

  const ShardedGraph& sharded_;
  const DeviceMesh& mesh_;
  const ProgramLayout& layout_;
  const Platform& platform_;
  GroupCostCache groups_;
  CollectiveMode mode_;
  std::unordered_map<OpId, Bytes> bytes_;  // of communications
  Workload workload_;
  std::vector<TimeNs> op_dispatch_ns_;         // by task of the workload; empty = all alike
  std::vector<std::vector<DataId>> produced_;  // by task of the workload
  uint32_t micro_batch_ = 0;
  std::vector<std::vector<DataId>> data_;  // of this micro-batch, by rank and data of the workload
  ExecGraphBuilder builder_;
  std::vector<Made> made_;  // by task, in order of creation
  uint32_t idle_row_ = 0;
  std::vector<TimeNs> row_times_;  // from idle_row_ on; the first is 0
  std::unordered_map<TimeNs, size_t> row_of_time_;
  TimeNs communication_ns_ = 0;
};

}  // namespace

StatusOr<SpmdProgram> make_spmd_program(const ShardedGraph& sharded, const DeviceMesh& mesh,
                                        const Platform& platform, const CostModel& model,
                                        CollectiveMode mode) {
  ProgramLayout layout;
  layout.groups = {{mesh.devices()}};
  layout.stage_of.assign(sharded.graph.op_count(), 0);
  return make_pipeline_program(sharded, mesh, layout, platform, model, mode);
}

StatusOr<SpmdProgram> make_pipeline_program(const ShardedGraph& sharded, const DeviceMesh& mesh,
                                            const ProgramLayout& layout, const Platform& platform,
                                            const CostModel& model, CollectiveMode mode) {
  return ProgramMaker(sharded, mesh, layout, platform, mode).run(model);
}

}  // namespace dfsim
