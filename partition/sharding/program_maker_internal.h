// ProgramMaker: builds SpmdProgram; internal to partition/. program_maker.cc sets up devices,
// orders and costs, program_tasks.cc adds tasks and collectives.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "opmodel/workload.h"
#include "partition/collectives/group_cost_cache.h"
#include "partition/sharding/spmd_program.h"

namespace dfsim::inline partition {

// Done once per step, not once per micro-batch.
inline bool is_once(TrainingPass pass) {
  return pass == TrainingPass::kReduce || pass == TrainingPass::kUpdate;
}

class ProgramMaker {
 public:
  ProgramMaker(const ShardedGraph& sharded, const DeviceMesh& mesh, const ProgramLayout& layout,
               const Platform& platform, CollectiveMode mode)
      : sharded_(sharded),
        mesh_(mesh),
        layout_(layout),
        platform_(platform),
        costs_of_(platform),
        mode_(mode) {
    for (const Communication& entry : sharded.report.communications) {
      bytes_[entry.op] = entry.bytes;
    }
  }

  StatusOr<SpmdProgram> run(const CostModel& model);

 private:
  struct Made {
    DeviceId device;
    uint32_t stage = 0;
    uint32_t micro_batch = 0;
    TrainingPass pass = TrainingPass::kForward;
    TaskKind kind = TaskKind::kCompute;
    TimeNs dispatch_ns = 0;
  };

  // How a data item of the workload goes on from the tasks of one micro-batch.
  struct DataUse {
    bool gradient = false;  // read once per step, after all micro-batches
    bool local = true;      // then by its own stage
    bool shared = false;    // read in the micro-batch's passes, too
  };

  // All-reduces of gradients that go together.
  struct Bucket {
    Bytes bytes = 0;
    std::vector<TaskId> members;  // of the workload
  };

  Status check() const;

  PipelineShape shape() const {
    return {layout_.schedule, static_cast<uint32_t>(layout_.groups.size()), layout_.chunks,
            layout_.micro_batches, layout_.training()};
  }

  // Every device, or one of each group where the others do the same.
  void choose_devices();

  // Host times of the workload's tasks, under the platform's runtime and the layout's mode.
  void find_dispatch_times();

  void find_data();

  // An engine for each device, if gradients are exchanged during the backward pass.
  void add_engines();

  StatusOr<SpmdProgram> finish(const CostModel& model);

  // Each device takes its tasks by the steps of the schedule, and those of a step by id.
  std::vector<std::vector<TaskId>> device_orders(const std::vector<const Made*>& made) const;

  // The rows of ops as the model prices them, then those of collectives on all devices alike.
  StatusOr<CostTable> cost_table(const CostModel& model) const;

  TrainingPass pass(TaskId like) const {
    return layout_.training() ? layout_.passes[workload_.graph.op(like).index()]
                              : TrainingPass::kForward;
  }
  uint32_t stage_of(TaskId like) const {
    return layout_.stage_of[workload_.graph.op(like).index()];
  }
  const std::vector<std::vector<DeviceId>>& replicas(uint32_t stage) const {
    return groups_[stage % groups_.size()];
  }
  // The devices that run that task for the current micro-batch, by rank.
  const std::vector<DeviceId>& devices(TaskId like) const {
    const auto& all = replicas(stage_of(like));
    return all[micro_batch_ % all.size()];
  }

  TaskId new_task(ExecGraphBuilder::Task task, size_t rank, TaskId like, TaskKind kind,
                  TimeNs dispatch_ns, bool on_engine = false);

  TimeNs dispatch_ns(TaskId like) const { return op_dispatch_ns_[like.index()]; }

  // Data that stays on the device because of this task: weights and states that it is the first to
  // read, and gradients that micro-batches add up in.
  Bytes resident_bytes(TaskId like, DeviceId device);

  // Bytes of the weights and constants that `like` reads and the device does not hold yet. Tensors
  // of one storage key (a tied embedding and its folded transpose) are the same bytes, but only on
  // the same device: each stage that reads them needs a copy.
  Bytes new_weights(TaskId like, DeviceId device);

  // A task that waits for the inputs of `like` on that rank.
  TaskId task_with_inputs(size_t rank, TaskId like, uint32_t row, TaskKind kind);

  void add_inputs(size_t rank, TaskId like, TaskId id);

  // Gradients that add up in place, and weights updated in place, are not data of their own. Those
  // for other stages go there after the last micro-batch.
  Bytes data_bytes(TaskId like, DataId data) const;

  void add_outputs(size_t rank, TaskId like, TaskId from);

  bool is_collective(TaskId id) const {
    const Op& op = sharded_.graph.op(workload_.graph.op(id));
    return op.op_class == OpClass::kCollective && op.domain == "dfsim";
  }

  Status add_task(TaskId id);

  // ---- collectives

  // The current ranks of a group, whose first one is `rank`: all, or the representative.
  std::vector<uint32_t> members(size_t rank, AxisSet axes) const {
    return ranks_ == 1 ? std::vector<uint32_t>{0} : mesh_.group(rank, axes);
  }

  const GroupCosts& costs_of(TaskId like, size_t rank, AxisSet axes);

  // Replaces `last`, the tasks with which each rank enters, by those with which it leaves.
  Status communicate(TaskId id, const Op& op, std::vector<TaskId>* last);

  uint32_t row_of(TimeNs time_ns);

  void wait_for_all(TaskId id, const std::vector<uint32_t>& group, uint32_t row, bool on_engine,
                    std::vector<TaskId>* last);

  void exchange(TaskId id, const std::vector<uint32_t>& group, const CollectivePlan& plan,
                std::vector<TaskId>* last);

  // ---- once per step

  // An all-reduce of gradients that can overlap the backward pass: all that it reads and makes is
  // in place on its own stage.
  bool can_wait(TaskId id) const;

  Status add_once(TaskId id);

  void flush_buckets();

  void flush(Bucket* bucket, AxisSet axes);

  const ShardedGraph& sharded_;
  const DeviceMesh& mesh_;
  const ProgramLayout& layout_;
  const Platform& platform_;
  GroupCostCache costs_of_;
  CollectiveMode mode_;
  std::unordered_map<OpId, Bytes> bytes_;  // of communications
  SpmdProgram program_;
  size_t ranks_ = 1;                                        // that are simulated
  std::vector<std::vector<std::vector<DeviceId>>> groups_;  // of the machine, as in the layout
  std::vector<DeviceId> engines_;                           // by device of the machine, or empty
  Workload workload_;
  std::vector<TimeNs> op_dispatch_ns_;         // by task of the workload; empty = all alike
  std::vector<std::vector<DataId>> produced_;  // by task of the workload
  std::vector<std::unordered_map<uint32_t, Bytes>> held_;  // weights by device and storage key
  std::vector<DataUse> uses_;                              // by data of the workload
  uint32_t micro_batch_ = 0;
  std::vector<std::vector<DataId>> data_;  // of this micro-batch, by rank and data of the workload
  std::vector<std::vector<std::vector<DataId>>> parts_;     // of gradients, of every micro-batch
  std::map<std::pair<uint32_t, AxisSet>, Bucket> buckets_;  // by stage and axes
  ExecGraphBuilder builder_;
  std::vector<Made> made_;  // by task, in order of creation
  uint32_t idle_row_ = 0;
  std::vector<TimeNs> row_times_;  // from idle_row_ on; the first is 0
  std::unordered_map<TimeNs, size_t> row_of_time_;
};

}  // namespace dfsim::inline partition
