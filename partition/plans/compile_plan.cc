// From a plan's few rules to a program for every device: seeds, propagation, sharding, stages,
// and the order on each device. Everything that the plan leaves open is found by propagation;
// what cannot be cut is kept whole and reported.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "graphs/ops/factors/factors.h"
#include "hardware/route.h"
#include "opmodel/workload.h"
#include "partition/collectives/group_cost_cache.h"
#include "partition/pipeline/stage_split.h"
#include "partition/plans/plan_spec.h"
#include "partition/sharding/sharded_training.h"

namespace dfsim::inline partition {
namespace {

// Splits of all operators that have none: whole.
std::vector<OpSplit> complete(const std::vector<OpSplit>& splits, const Graph& graph) {
  std::vector<OpSplit> all = splits;
  std::vector<bool> given(graph.op_count(), false);
  for (const OpSplit& split : splits) {
    given[split.op.index()] = true;
  }
  for (size_t i = 0; i < graph.op_count(); ++i) {
    if (!given[i]) {
      all.push_back({OpId(i), std::vector<AxisSet>(op_factors(graph, OpId(i)).factors.size(), 0)});
    }
  }
  return all;
}

StatusOr<std::vector<std::vector<std::vector<DeviceId>>>> first_devices(const Platform& platform,
                                                                        size_t groups,
                                                                        size_t ranks) {
  const std::vector<DeviceId> all = compute_devices(platform);
  if (groups * ranks > all.size()) {
    return invalid_input(fmt::format(
        "the plan needs {} devices, '{}' has {} for it; choose fewer with --devices or another "
        "platform",
        groups * ranks, printable(platform.name), all.size()));
  }
  std::vector<std::vector<std::vector<DeviceId>>> devices;
  for (size_t g = 0; g < groups; ++g) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(g * ranks);
    devices.push_back({std::vector<DeviceId>(begin, begin + static_cast<ptrdiff_t>(ranks))});
  }
  return devices;
}

class StageFinder {
 public:
  StageFinder(const PlanSpec& spec, const Platform& platform, CompiledPlan* compiled)
      : spec_(spec), platform_(platform), compiled_(*compiled) {}

  // Sets the stage of every operator, and which operators end each stage.
  Status run(const CostModel& model) {
    const Graph& graph = compiled_.sharded.graph;
    compiled_.layout.stage_of.assign(graph.op_count(), 0);
    const size_t groups = compiled_.layout.groups.size();
    if (groups == 1 && spec_.chunks == 1) {
      return ok_status();
    }
    if (spec_.until.empty()) {
      DFSIM_RETURN_IF_ERROR(find(model));
    } else {
      DFSIM_RETURN_IF_ERROR(apply_given());
    }
    settle_views();
    name_ends();
    return ok_status();
  }

 private:
  Status apply_given() {
    const Graph& graph = compiled_.sharded.graph;
    const size_t stages = compiled_.layout.groups.size() * spec_.chunks;
    if (spec_.until.size() + 1 != stages) {
      return invalid_input(
          fmt::format("the plan's `until` ends {} stages, expected one less than its {} stages",
                      spec_.until.size(), stages));
    }
    std::unordered_map<std::string, size_t> by_name;
    std::vector<std::string> names;
    for (size_t i = 0; i < graph.op_count(); ++i) {
      by_name[graph.op(OpId(i)).name] = i;
      names.push_back(graph.op(OpId(i)).name);
    }
    auto& stage_of = compiled_.layout.stage_of;
    stage_of.assign(graph.op_count(), static_cast<uint32_t>(stages - 1));
    std::vector<bool> taken(graph.op_count(), false);
    for (size_t stage = 0; stage < spec_.until.size(); ++stage) {
      std::vector<size_t> open;
      for (const std::string& name : spec_.until[stage]) {
        const auto found = by_name.find(name);
        if (found == by_name.end()) {
          return not_found("until: " + unknown_name_message("operator", name, names));
        }
        open.push_back(found->second);
      }
      while (!open.empty()) {
        const size_t op = open.back();
        open.pop_back();
        if (taken[op]) {
          continue;
        }
        taken[op] = true;
        stage_of[op] = static_cast<uint32_t>(stage);
        for (const TensorId input : graph.op(OpId(op)).inputs) {
          if (input.valid() && graph.tensor(input).producer.valid()) {
            open.push_back(graph.tensor(input).producer.index());
          }
        }
      }
    }
    return ok_status();
  }

  Status find(const CostModel& model) {
    const Graph& graph = compiled_.sharded.graph;
    DFSIM_ASSIGN_OR_RETURN(const Workload workload, make_workload(graph));
    const DeviceId device = compiled_.layout.groups[0][0][0];
    std::vector<OpCost> costs(workload.rows.size());
    DFSIM_RETURN_IF_ERROR(model.predict(workload.rows, platform_.device(device), costs));
    StageGraph stages = stage_graph(workload, costs);
    if (spec_.training) {
      // Gradients and states stay with the weights.
      const double copies = 2 + static_cast<double>(spec_.training->options.optimizer);
      for (StageNode& node : stages.nodes) {
        node.bytes *= copies;
      }
    }
    StageLimits limits;
    limits.devices = static_cast<uint32_t>(compiled_.layout.groups.size() * spec_.chunks);
    limits.replicate = spec_.replicate_stages;
    limits.overlap = true;
    limits.capacity = static_cast<double>(platform_.device(device).memory_bytes);
    DFSIM_ASSIGN_OR_RETURN(const StageSplit split, split_contiguous(stages, limits));
    for (size_t t = 0; t < workload.graph.task_count(); ++t) {
      compiled_.layout.stage_of[workload.graph.op(TaskId(t)).index()] = split.stage_of[t];
    }
    return arrange(split);
  }

  // Joins groups of devices to replicas, and drops those that no stage needs.
  Status arrange(const StageSplit& split) {
    auto& groups = compiled_.layout.groups;
    if (spec_.chunks > 1) {
      return split.replicas.size() == groups.size() * spec_.chunks
                 ? ok_status()
                 : invalid_input(fmt::format(
                       "pipeline: the graph has only {} stages that pay, {} devices with {} "
                       "chunks each need more; choose fewer devices or chunks",
                       split.replicas.size(), groups.size(), spec_.chunks));
    }
    std::vector<std::vector<std::vector<DeviceId>>> joined;
    size_t next = 0;
    for (const uint32_t replicas : split.replicas) {
      joined.emplace_back();
      for (uint32_t r = 0; r < replicas; ++r) {
        joined.back().push_back(groups[next++][0]);
      }
    }
    groups = std::move(joined);
    return ok_status();
  }

  StageGraph stage_graph(const Workload& workload, const std::vector<OpCost>& costs) const {
    const ExecGraph& graph = workload.graph;
    std::unordered_map<OpId, TimeNs> collectives;
    GroupCostCache cache(platform_);
    for (const Communication& entry : compiled_.sharded.report.communications) {
      std::vector<DeviceId> group;
      for (const uint32_t rank : compiled_.mesh.group(0, entry.axes)) {
        group.push_back(compiled_.layout.groups[0][0][rank]);
      }
      collectives[entry.op] =
          collective_op_ns(compiled_.sharded.graph.op(entry.op), entry.bytes, cache.of(group));
    }
    const RouteTable routes(platform_);
    const auto& groups = compiled_.layout.groups;
    const Route& route =
        routes.route(groups[0][0][0].value(), groups[groups.size() > 1 ? 1 : 0][0][0].value());
    StageGraph stages;
    stages.nodes.resize(graph.task_count());
    for (size_t t = 0; t < graph.task_count(); ++t) {
      const auto found = collectives.find(graph.op(TaskId(t)));
      const TimeNs time_ns =
          found != collectives.end() ? found->second : costs[graph.cost_row(TaskId(t))].time_ns;
      stages.nodes[t].time = static_cast<double>(time_ns);
      stages.nodes[t].bytes = static_cast<double>(graph.resident_bytes(TaskId(t)));
    }
    for (size_t d = 0; d < graph.data_count(); ++d) {
      const Bytes bytes = graph.data_bytes(DataId(d));
      stages.results.push_back(
          {graph.data_producer(DataId(d)).value(), {}, static_cast<double>(route.idle_ns(bytes))});
    }
    for (const Edge& edge : graph.edges()) {
      stages.results[edge.data.index()].readers.push_back(edge.to.value());
      stages.edges.emplace_back(edge.from.value(), edge.to.value());
    }
    return stages;
  }

  // Views run nowhere: they go where their source is.
  void settle_views() {
    const Graph& graph = compiled_.sharded.graph;
    for (size_t i = 0; i < graph.op_count(); ++i) {
      const Op& op = graph.op(OpId(i));
      if (op.op_class == OpClass::kView && op.inputs[0].valid() &&
          graph.tensor(op.inputs[0]).producer.valid()) {
        compiled_.layout.stage_of[i] =
            compiled_.layout.stage_of[graph.tensor(op.inputs[0]).producer.index()];
      }
    }
  }

  // The operators of each stage that no other one of it reads.
  void name_ends() {
    const Graph& graph = compiled_.sharded.graph;
    const auto& stage_of = compiled_.layout.stage_of;
    const uint32_t last = *std::max_element(stage_of.begin(), stage_of.end());
    compiled_.until.assign(last, {});
    for (size_t i = 0; i < graph.op_count(); ++i) {
      bool inner = false;
      for (const TensorId output : graph.op(OpId(i)).outputs) {
        for (const OpId reader :
             output.valid() ? graph.consumers(output) : std::span<const OpId>()) {
          inner = inner || stage_of[reader.index()] == stage_of[i];
        }
      }
      if (!inner && stage_of[i] < last) {
        compiled_.until[stage_of[i]].push_back(graph.op(OpId(i)).name);
      }
    }
  }

  const PlanSpec& spec_;
  const Platform& platform_;
  CompiledPlan& compiled_;
};

}  // namespace

StatusOr<CompiledPlan> compile_plan(const PlanSpec& spec, const Graph& graph,
                                    const Platform& platform, const CostModel& model,
                                    CollectiveMode mode) {
  size_t ranks = 1;
  for (const MeshAxis& axis : spec.mesh) {
    ranks *= static_cast<size_t>(std::max<int64_t>(1, axis.size));
  }
  CompiledPlan compiled;
  ProgramLayout& layout = compiled.layout;
  layout.groups = spec.devices;
  if (layout.groups.empty()) {
    DFSIM_ASSIGN_OR_RETURN(layout.groups, first_devices(platform, spec.groups, ranks));
  }
  layout.chunks = spec.chunks;
  layout.micro_batches = spec.micro_batches;
  layout.schedule = spec.schedule;
  DFSIM_ASSIGN_OR_RETURN(compiled.mesh, DeviceMesh::make(platform, spec.mesh, layout.groups[0][0]));
  DFSIM_ASSIGN_OR_RETURN(
      compiled.sharding,
      propagate_sharding(graph, compiled.mesh, spec.seeds,
                         spec.propagate ? spec.splits : complete(spec.splits, graph)));
  DFSIM_ASSIGN_OR_RETURN(compiled.sharded, shard_graph(graph, compiled.mesh, compiled.sharding));
  DFSIM_RETURN_IF_ERROR(StageFinder(spec, platform, &compiled).run(model));
  layout.use_symmetry = spec.use_symmetry;
  layout.autocast = spec.autocast;
  if (!spec.uneven.empty()) {
    if (ranks != 1 || layout.groups.size() != 1 || spec.micro_batches != 1 || spec.training) {
      return invalid_input(
          "uneven splits share operators of one device; expected a mesh of one device, one stage, "
          "one micro-batch and no training");
    }
    DFSIM_ASSIGN_OR_RETURN(compiled.program, make_uneven_program(graph, spec.uneven, platform,
                                                                 layout.groups[0][0][0], model));
    return compiled;
  }
  if (spec.training) {
    DFSIM_ASSIGN_OR_RETURN(
        ShardedGraph step,
        shard_training_step(graph, compiled.mesh, compiled.sharding, spec.training->options,
                            &compiled.gradients_without_rule));
    layout.stage_of = training_stages(step.graph, compiled.sharded.graph, layout.stage_of);
    layout.passes = training_passes(step.graph);
    layout.bucket_bytes = spec.training->bucket_bytes;
    compiled.sharded = std::move(step);
  }
  DFSIM_ASSIGN_OR_RETURN(compiled.program, make_pipeline_program(compiled.sharded, compiled.mesh,
                                                                 layout, platform, model, mode));
  return compiled;
}

}  // namespace dfsim::inline partition
