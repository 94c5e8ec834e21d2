// From a sharded graph to tasks on devices, second half: tasks of operators, of collectives by
// formula or message by message, and the buckets in which gradients are exchanged during the
// backward pass. A bucket is sent when its last gradient is there.
#include "partition/sharding/program_maker_internal.h"

#include <algorithm>

namespace dfsim::inline partition {

TaskId ProgramMaker::new_task(ExecGraphBuilder::Task task, size_t rank, TaskId like, TaskKind kind,
                              TimeNs dispatch_ns, bool on_engine) {
  task.op = workload_.graph.op(like);
  const DeviceId device = devices(like)[rank];
  made_.push_back({on_engine ? engines_[device.index()] : device, stage_of(like), micro_batch_,
                   pass(like), kind, dispatch_ns});
  return builder_.add_task(std::move(task));
}

Bytes ProgramMaker::new_weights(TaskId like, DeviceId device) {
  const Graph& graph = sharded_.graph;
  held_.resize(program_.machine.devices.size());
  std::unordered_map<uint32_t, Bytes>& held = held_[device.index()];
  Bytes added = 0;
  for (TensorId id : graph.op(workload_.graph.op(like)).inputs) {
    // A view shows the bytes of what it reads.
    while (id.valid() && graph.tensor(id).producer.valid() &&
           graph.op(graph.tensor(id).producer).op_class == OpClass::kView) {
      id = graph.op(graph.tensor(id).producer).inputs[0];
    }
    if (!id.valid() || graph.tensor(id).role == TensorRole::kActivation ||
        !graph.tensor(id).shape.is_static()) {
      continue;
    }
    const Tensor& tensor = graph.tensor(id);
    Bytes& bytes = held[tensor.storage_key != 0 ? tensor.storage_key : ~id.value()];
    // The larger one of two shards of the same bytes is kept.
    added += std::max<Bytes>(0, tensor.bytes().value() - bytes);
    bytes = std::max(bytes, tensor.bytes().value());
  }
  return added;
}

Bytes ProgramMaker::resident_bytes(TaskId like, DeviceId device) {
  if (micro_batch_ >= replicas(stage_of(like)).size() && !is_once(pass(like))) {
    return 0;  // later micro-batches find it there
  }
  ResidentMemory& memory = program_.memory[device.index()];
  const Bytes weights = new_weights(like, device);
  (pass(like) == TrainingPass::kUpdate ? memory.optimizer : memory.weights) += weights;
  Bytes gradients = 0;
  for (const DataId data : produced_[like.index()]) {
    const DataUse& use = uses_[data.index()];
    gradients += use.gradient && use.local ? workload_.graph.data_bytes(data) : 0;
  }
  memory.gradients += gradients;
  return weights + gradients;
}

TaskId ProgramMaker::task_with_inputs(size_t rank, TaskId like, uint32_t row, TaskKind kind) {
  ExecGraphBuilder::Task task;
  task.cost_row = row;
  task.resident_bytes = resident_bytes(like, devices(like)[rank]);
  task.workspace_bytes = workload_.graph.workspace_bytes(like);
  const TaskId id = new_task(std::move(task), rank, like, kind, dispatch_ns(like));
  add_inputs(rank, like, id);
  return id;
}

void ProgramMaker::add_inputs(size_t rank, TaskId like, TaskId id) {
  for (const uint32_t edge : workload_.graph.in_edge_indices(like)) {
    const DataId data = workload_.graph.edges()[edge].data;
    if (is_once(pass(like)) && uses_[data.index()].gradient) {
      for (const DataId part : parts_[rank][data.index()]) {
        builder_.add_edge(part, id);
      }
    } else {
      builder_.add_edge(data_[rank][data.index()], id);
    }
  }
}

Bytes ProgramMaker::data_bytes(TaskId like, DataId data) const {
  const DataUse& use = uses_[data.index()];
  const bool in_place = is_once(pass(like)) || (use.gradient && !use.shared);
  const bool last = micro_batch_ + 1 == layout_.micro_batches;
  return in_place && (use.local || !last) ? 0 : workload_.graph.data_bytes(data);
}

void ProgramMaker::add_outputs(size_t rank, TaskId like, TaskId from) {
  for (const DataId data : produced_[like.index()]) {
    const DataId made =
        builder_.add_data(from, data_bytes(like, data), workload_.graph.data_is_output(data));
    data_[rank][data.index()] = made;
    if (uses_[data.index()].gradient) {
      parts_[rank][data.index()].push_back(made);
    }
  }
}

Status ProgramMaker::add_task(TaskId id) {
  const Op& op = sharded_.graph.op(workload_.graph.op(id));
  const bool collective = is_collective(id);
  const TaskKind kind = collective                          ? TaskKind::kCommunication
                        : pass(id) == TrainingPass::kUpdate ? TaskKind::kUpdate
                                                            : TaskKind::kCompute;
  std::vector<TaskId> last;
  for (size_t rank = 0; rank < ranks_; ++rank) {
    last.push_back(
        task_with_inputs(rank, id, collective ? idle_row_ : workload_.graph.cost_row(id), kind));
  }
  if (collective) {
    DFSIM_RETURN_IF_ERROR(communicate(id, op, &last));
  }
  for (size_t rank = 0; rank < ranks_; ++rank) {
    add_outputs(rank, id, last[rank]);
  }
  return ok_status();
}

const GroupCosts& ProgramMaker::costs_of(TaskId like, size_t rank, AxisSet axes) {
  const auto& all = layout_.groups[stage_of(like) % layout_.groups.size()];
  std::vector<DeviceId> there;
  for (const uint32_t member : mesh_.group(rank, axes)) {
    there.push_back(all[micro_batch_ % all.size()][member]);
  }
  return costs_of_.of(there);
}

Status ProgramMaker::communicate(TaskId id, const Op& op, std::vector<TaskId>* last) {
  const auto axes = static_cast<AxisSet>(op.attributes.int_or("axes", 0));
  const Bytes bytes = bytes_.at(workload_.graph.op(id));
  TimeNs longest = 0;
  for (size_t rank = 0; rank < ranks_; ++rank) {
    if (mesh_.position(rank, axes) != 0) {
      continue;
    }
    const std::vector<uint32_t> group = members(rank, axes);
    const GroupCosts& costs = costs_of(id, rank, axes);
    const TimeNs time_ns = collective_op_ns(op, bytes, costs);
    longest = std::max(longest, time_ns);
    if (mode_ == CollectiveMode::kModel) {
      wait_for_all(id, group, row_of(time_ns), false, last);
    } else {
      DFSIM_ASSIGN_OR_RETURN(const CollectivePlan plan, plan_collective(op, bytes, costs));
      exchange(id, group, plan, last);
    }
  }
  program_.communication_ns += longest;
  program_.gradient_exchanges += is_once(pass(id)) ? 1 : 0;
  return ok_status();
}

uint32_t ProgramMaker::row_of(TimeNs time_ns) {
  const auto [it, is_new] = row_of_time_.try_emplace(time_ns, row_times_.size());
  if (is_new) {
    row_times_.push_back(time_ns);
  }
  return idle_row_ + static_cast<uint32_t>(it->second);
}

void ProgramMaker::wait_for_all(TaskId id, const std::vector<uint32_t>& group, uint32_t row,
                                bool on_engine, std::vector<TaskId>* last) {
  std::vector<DataId> ready;
  for (const uint32_t rank : group) {
    ready.push_back(builder_.add_data((*last)[rank], 0));
  }
  for (const uint32_t rank : group) {
    ExecGraphBuilder::Task task;
    task.cost_row = row;
    const TaskId made = new_task(std::move(task), rank, id, TaskKind::kCommunication, 0, on_engine);
    for (const DataId data : ready) {
      builder_.add_edge(data, made);
    }
    (*last)[rank] = made;
  }
}

void ProgramMaker::exchange(TaskId id, const std::vector<uint32_t>& group,
                            const CollectivePlan& plan, std::vector<TaskId>* last) {
  if (plan.extra_ns > 0) {
    wait_for_all(id, group, row_of(plan.extra_ns), false, last);
  }
  std::vector<TaskId> start;
  for (const uint32_t rank : group) {
    start.push_back((*last)[rank]);
  }
  std::vector<uint32_t> positions;
  const std::vector<TaskId> end =
      add_collective(builder_, plan.rounds, start, idle_row_, &positions);
  for (const uint32_t position : positions) {
    made_.push_back({devices(id)[group[position]], stage_of(id), micro_batch_, pass(id),
                     TaskKind::kCommunication, 0});
  }
  for (size_t i = 0; i < group.size(); ++i) {
    (*last)[group[i]] = end[i];
  }
}

bool ProgramMaker::can_wait(TaskId id) const {
  if (engines_.empty() || !is_collective(id) ||
      sharded_.graph.op(workload_.graph.op(id)).op_type != "AllReduce") {
    return false;
  }
  const auto edges = workload_.graph.in_edge_indices(id);
  const auto& results = produced_[id.index()];
  if (!std::all_of(results.begin(), results.end(),
                   [&](DataId data) { return uses_[data.index()].local; })) {
    return false;  // another stage waits for it: a weight that both read
  }
  return std::all_of(edges.begin(), edges.end(), [&](uint32_t edge) {
    const DataUse& use = uses_[workload_.graph.edges()[edge].data.index()];
    return use.local && !use.shared;
  });
}

Status ProgramMaker::add_once(TaskId id) {
  if (!can_wait(id)) {
    flush_buckets();  // it may need what is in them
    return add_task(id);
  }
  const Op& op = sharded_.graph.op(workload_.graph.op(id));
  const auto axes = static_cast<AxisSet>(op.attributes.int_or("axes", 0));
  Bucket& bucket = buckets_[{stage_of(id), axes}];
  bucket.members.push_back(id);
  bucket.bytes += bytes_.at(workload_.graph.op(id));
  if (bucket.bytes >= layout_.bucket_bytes) {
    flush(&bucket, axes);
  }
  return ok_status();
}

void ProgramMaker::flush_buckets() {
  for (auto& [key, bucket] : buckets_) {
    flush(&bucket, key.second);
  }
}

void ProgramMaker::flush(Bucket* bucket, AxisSet axes) {
  if (bucket->members.empty()) {
    return;
  }
  const TaskId like = bucket->members[0];
  const Op& op = sharded_.graph.op(workload_.graph.op(like));
  std::vector<TaskId> last;
  for (size_t rank = 0; rank < ranks_; ++rank) {
    ExecGraphBuilder::Task task;
    task.cost_row = idle_row_;
    last.push_back(new_task(std::move(task), rank, like, TaskKind::kCommunication, 0, true));
    for (const TaskId member : bucket->members) {
      add_inputs(rank, member, last.back());
    }
  }
  TimeNs longest = 0;
  for (size_t rank = 0; rank < ranks_; ++rank) {
    if (mesh_.position(rank, axes) == 0) {
      const TimeNs time_ns = collective_op_ns(op, bucket->bytes, costs_of(like, rank, axes));
      longest = std::max(longest, time_ns);
      wait_for_all(like, members(rank, axes), row_of(time_ns), true, &last);
    }
  }
  program_.communication_ns += longest;
  ++program_.gradient_exchanges;
  for (size_t rank = 0; rank < ranks_; ++rank) {
    for (const TaskId member : bucket->members) {
      add_outputs(rank, member, last[rank]);
    }
  }
  *bucket = Bucket();
}

}  // namespace dfsim::inline partition
