// From a sharded graph to tasks on devices, first half: which devices take part, which data they
// hold, engines for communication, and the final program with its order on each device.
// program_tasks.cc is the second half.
#include "partition/sharding/program_maker_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/cancellation.h"
#include "opmodel/run_costs.h"
#include "partition/sharding/representatives.h"

namespace dfsim::inline partition {
namespace {

constexpr std::string_view kEngineSuffix = ".collectives";

}  // namespace

StatusOr<SpmdProgram> ProgramMaker::run(const CostModel& model) {
  DFSIM_RETURN_IF_ERROR(check());
  choose_devices();
  DFSIM_ASSIGN_OR_RETURN(workload_, make_workload(sharded_.graph));
  find_dispatch_times();
  idle_row_ = static_cast<uint32_t>(workload_.rows.size());
  row_times_.push_back(0);
  find_data();
  add_engines();
  const size_t tasks = workload_.graph.task_count();
  for (micro_batch_ = 0; micro_batch_ < layout_.micro_batches; ++micro_batch_) {
    data_.assign(ranks_, std::vector<DataId>(workload_.graph.data_count()));
    for (size_t t = 0; t < tasks; ++t) {
      cancellation_point();
      if (!is_once(pass(TaskId(t)))) {
        DFSIM_RETURN_IF_ERROR(add_task(TaskId(t)));
      }
    }
  }
  micro_batch_ = layout_.micro_batches - 1;
  for (size_t t = 0; layout_.training() && t < tasks; ++t) {
    if (is_once(pass(TaskId(t)))) {
      DFSIM_RETURN_IF_ERROR(add_once(TaskId(t)));
    }
  }
  flush_buckets();
  return finish(model);
}

Status ProgramMaker::check() const {
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
      DFSIM_RETURN_IF_ERROR(costs_of_.check_connected(devices));
    }
    if (replicas.empty()) {
      return invalid_input("layout: a stage without devices");
    }
    if (replicas.size() > 1 && layout_.training()) {
      return invalid_input(
          "layout: stages with several replicas are for inference; in training share the batch "
          "by data parallelism");
    }
  }
  return check_pipeline(shape());
}

void ProgramMaker::choose_devices() {
  ranks_ = mesh_.device_count();
  groups_ = layout_.groups;
  program_.machine = platform_;
  if (!layout_.use_symmetry) {
    return;
  }
  if (mode_ == CollectiveMode::kFlow) {
    program_.asymmetry = "messages of collectives are simulated one by one";
    return;
  }
  std::vector<AxisSet> axes;
  for (const Communication& entry : sharded_.report.communications) {
    if (std::find(axes.begin(), axes.end(), entry.axes) == axes.end()) {
      axes.push_back(entry.axes);
    }
  }
  Representatives found = find_representatives(platform_, mesh_, layout_.groups, axes, &costs_of_);
  program_.asymmetry = found.reason;
  if (!found.reason.empty()) {
    return;
  }
  program_.machine = std::move(found.machine);
  program_.stands_for = found.stand_for;
  ranks_ = 1;
  for (size_t g = 0; g < groups_.size(); ++g) {
    groups_[g] = {{found.devices[g]}};
  }
}

void ProgramMaker::find_dispatch_times() {
  const size_t tasks = workload_.graph.task_count();
  op_dispatch_ns_ = dispatch_times(workload_, platform_.runtime);
  op_dispatch_ns_.resize(tasks, platform_.runtime.dispatch_ns);
  std::vector<TaskId> same(tasks);
  for (size_t t = 0; t < tasks; ++t) {
    same[t] = TaskId(t);
  }
  add_dispatch_modes({sharded_.graph, workload_.graph, layout_.training(), layout_.autocast},
                     platform_.runtime, same, &op_dispatch_ns_);
}

void ProgramMaker::find_data() {
  const ExecGraph& graph = workload_.graph;
  produced_.resize(graph.task_count());
  uses_.resize(graph.data_count());
  for (size_t d = 0; d < graph.data_count(); ++d) {
    produced_[graph.data_producer(DataId(d)).index()].emplace_back(d);
  }
  for (const Edge& edge : graph.edges()) {
    DataUse& use = uses_[edge.data.index()];
    const bool once = is_once(pass(edge.to));
    use.gradient = use.gradient || (once && !is_once(pass(edge.from)));
    use.local = use.local && (!once || stage_of(edge.from) == stage_of(edge.to));
    use.shared = use.shared || !once;
  }
  parts_.assign(ranks_, std::vector<std::vector<DataId>>(graph.data_count()));
}

void ProgramMaker::add_engines() {
  program_.device_count = program_.machine.devices.size();
  program_.memory.resize(program_.device_count);
  if (mode_ != CollectiveMode::kModel || layout_.bucket_bytes == 0 || !layout_.training()) {
    return;
  }
  engines_.resize(program_.device_count);
  for (const auto& replicas : groups_) {
    for (const DeviceId device : replicas[0]) {
      engines_[device.index()] = DeviceId(program_.machine.devices.size());
      program_.machine.devices.push_back(program_.machine.device(device));
      program_.machine.devices.back().name += kEngineSuffix;
    }
  }
}

StatusOr<SpmdProgram> ProgramMaker::finish(const CostModel& model) {
  std::vector<uint32_t> order;
  DFSIM_ASSIGN_OR_RETURN(program_.graph, builder_.build(&order));
  std::vector<const Made*> made;
  for (const uint32_t inserted : order) {
    made.push_back(&made_[inserted]);
    program_.device_of.push_back(made_[inserted].device);
    program_.kinds.push_back(made_[inserted].kind);
    program_.dispatch_ns.push_back(made_[inserted].dispatch_ns);
  }
  program_.order = device_orders(made);
  DFSIM_ASSIGN_OR_RETURN(program_.costs, cost_table(model));
  return std::move(program_);
}

std::vector<std::vector<TaskId>> ProgramMaker::device_orders(
    const std::vector<const Made*>& made) const {
  const auto groups = static_cast<uint32_t>(layout_.groups.size());
  // By stage, then by pass (forward, backward) and micro-batch.
  std::vector<std::vector<uint32_t>> position(size_t{groups} * layout_.chunks);
  uint32_t behind = 0;
  for (uint32_t group = 0; group < groups; ++group) {
    uint32_t next = 0;
    for (const PipelineStep& step : pipeline_steps(shape(), group)) {
      auto& of_stage = position[step.chunk * groups + group];
      of_stage.resize(size_t{2} * layout_.micro_batches);
      of_stage[(step.backward ? layout_.micro_batches : 0) + step.micro_batch] = next++;
    }
    behind = std::max(behind, next);
  }
  const auto position_of = [&](const Made& task) {
    const bool forward = task.pass == TrainingPass::kForward;
    return is_once(task.pass)
               ? behind
               : position[task.stage][(forward ? 0 : layout_.micro_batches) + task.micro_batch];
  };
  std::vector<std::vector<TaskId>> orders(program_.machine.devices.size());
  for (size_t t = 0; t < made.size(); ++t) {
    orders[made[t]->device.index()].emplace_back(t);
  }
  for (auto& tasks : orders) {
    std::stable_sort(tasks.begin(), tasks.end(), [&](TaskId a, TaskId b) {
      return position_of(*made[a.index()]) < position_of(*made[b.index()]);
    });
  }
  return orders;
}

StatusOr<CostTable> ProgramMaker::cost_table(const CostModel& model) const {
  const Platform& machine = program_.machine;
  DFSIM_ASSIGN_OR_RETURN(const CostTable ops, cost_workload(workload_, machine, model));
  CostTable costs(ops.rows() + row_times_.size(), machine.devices.size());
  for (size_t d = 0; d < machine.devices.size(); ++d) {
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

}  // namespace dfsim::inline partition
