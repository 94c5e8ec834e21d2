#include "report/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "graphs/algorithms/arena_plan.h"
#include "graphs/algorithms/dag.h"

namespace dfsim::inline report {
namespace {

// By task: how long it ran on the device it was given.
std::vector<int64_t> task_durations(const SimResult& result) {
  std::vector<int64_t> durations;
  durations.reserve(result.tasks.size());
  for (const TaskRecord& record : result.tasks) {
    durations.push_back(record.end_ns - record.start_ns);
  }
  return durations;
}

std::vector<PredictedOp> predicted_ops(const PredictionInput& input, const CriticalPath& path) {
  std::vector<PredictedOp> ops;
  const ExecGraph& tasks = input.workload.graph;
  ops.reserve(tasks.task_count());
  for (size_t t = 0; t < tasks.task_count(); ++t) {
    const TaskId task(t);
    const TaskRecord& record = input.result.tasks[t];
    const Op& op = input.executed.op(tasks.op(task));
    const OpDescriptor& row = input.workload.rows[tasks.cost_row(task)];
    const OpCost& cost = input.costs.at(tasks.cost_row(task), record.device);
    PredictedOp out;
    out.name = op.name;
    out.op_type = row.op_type;
    if (has_origins(op)) {
      out.origins = origins_of(op);
    }
    out.op_class = op.op_class;
    out.device = input.platform.device(record.device).name;
    out.queue = record.queue;
    out.start_ns = record.start_ns;
    out.duration_ns = record.end_ns - record.start_ns;
    out.macs = row.work.macs;
    out.flops = row.work.flops;
    out.bytes = row.work.bytes();
    out.dtype = row.work.dtype;
    out.bound = cost.bound;
    out.source = cost.source;
    out.wait_ns = record.wait_ns;
    out.shape = row.output_extents.empty() ? "?" : format_shape(Shape::of(row.output_extents[0]));
    ops.push_back(std::move(out));
  }
  for (const uint32_t task : path.nodes) {
    ops[task].critical = true;
  }
  std::stable_sort(ops.begin(), ops.end(), [](const PredictedOp& a, const PredictedOp& b) {
    return a.start_ns < b.start_ns;
  });
  return ops;
}

std::vector<PredictedCopy> predicted_copies(const PredictionInput& input) {
  const ExecGraph& tasks = input.node_tasks == nullptr ? input.workload.graph : *input.node_tasks;
  const auto node = [&](DeviceId device) {
    return device.valid() ? input.platform.device(device).name : input.platform.host.node;
  };
  std::vector<PredictedCopy> copies;
  copies.reserve(input.copies.size());
  for (const CopyRecord& copy : input.copies) {
    const TaskId producer = tasks.data_producer(copy.data);
    const OpId op = tasks.op(producer);
    PredictedCopy out;
    out.name = op.valid() ? input.executed.op(op).name : tasks.name(producer);
    out.kind = copy.kind;
    out.from = node(copy.from);
    out.to = node(copy.to);
    out.engine = copy.to_engine >= 0 ? copy.to_engine : copy.from_engine;
    if (out.engine >= 0) {
      out.device = copy.to_engine >= 0 ? out.to : out.from;
    }
    out.bytes = copy.bytes;
    out.start_ns = copy.start_ns;
    out.duration_ns = copy.end_ns - copy.start_ns;
    out.wait_ns = copy.start_ns - copy.requested_ns;
    copies.push_back(std::move(out));
  }
  return copies;
}

template <typename KeyOf>
std::vector<Share> shares(const std::vector<PredictedOp>& ops, const KeyOf& key_of) {
  std::map<std::string, Share> by_name;
  TimeNs total = 0;
  for (const PredictedOp& op : ops) {
    const std::string name(key_of(op));
    Share& share = by_name[name];
    share.name = name;
    ++share.ops;
    share.time_ns += op.duration_ns;
    total += op.duration_ns;
  }
  std::vector<Share> list;
  for (auto& [name, share] : by_name) {
    share.fraction =
        total > 0 ? static_cast<double>(share.time_ns) / static_cast<double>(total) : 0;
    list.push_back(std::move(share));
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Share& a, const Share& b) { return a.time_ns > b.time_ns; });
  return list;
}

// The device that computes longest; the first of equals.
size_t main_device(const PredictionInput& input) {
  const auto& uses = input.result.devices;
  return static_cast<size_t>(std::max_element(uses.begin(), uses.end(),
                                              [](const DeviceUse& a, const DeviceUse& b) {
                                                return a.busy_ns < b.busy_ns;
                                              }) -
                             uses.begin());
}

// The dtype that most FLOPs are done in, and its peak on the device that does them.
void set_rates(const PredictionInput& input, Prediction* prediction) {
  std::map<DType, double> flops_by_dtype;
  bool matrix = false;
  for (size_t t = 0; t < input.workload.graph.task_count(); ++t) {
    const OpWork& work = input.workload.rows[input.workload.graph.cost_row(TaskId(t))].work;
    flops_by_dtype[work.dtype] += static_cast<double>(work.flops);
    matrix = matrix || work.matrix;
  }
  double most = 0;
  for (const auto& [dtype, flops] : flops_by_dtype) {
    if (flops > most) {
      most = flops;
      prediction->main_dtype = dtype;
    }
  }
  const DeviceSpec& device = input.platform.devices[main_device(input)];
  prediction->peak_flops_per_s = device.peak_flops_per_s(prediction->main_dtype, matrix);
  if (prediction->latency_ns > 0) {
    const double seconds = static_cast<double>(prediction->latency_ns) * 1e-9;
    prediction->achieved_flops_per_s = static_cast<double>(prediction->flops) / seconds;
    prediction->throughput_per_s = static_cast<double>(prediction->batch) / seconds;
  }
}

Status set_memory(const PredictionInput& input, Prediction* prediction) {
  // Of the device that holds most.
  Bytes peak = 0;
  prediction->memory_bytes = input.platform.devices.front().memory_bytes;
  for (size_t d = 0; d < input.platform.devices.size(); ++d) {
    if (input.result.devices[d].peak_memory_bytes > peak) {
      peak = input.result.devices[d].peak_memory_bytes;
      prediction->memory_bytes = input.platform.devices[d].memory_bytes;
    }
    prediction->device_busy_ns += input.result.devices[d].busy_ns;
  }
  prediction->weight_bytes = input.workload.weight_bytes;
  prediction->input_bytes = input.workload.input_bytes;
  prediction->peak_activation_bytes = std::max<Bytes>(0, peak - input.workload.weight_bytes);
  prediction->peak_memory_bytes = peak + input.workload.input_bytes;
  if (input.platform.devices.size() == 1 && input.platform.devices[0].type == DeviceType::kCpu &&
      input.platform.runtime.allocator == AllocatorKind::kArena) {
    // Buffers planned ahead are shared and kept otherwise than by tensors' lifetimes.
    DFSIM_ASSIGN_OR_RETURN(const ArenaPlan plan, plan_arena(input.executed));
    prediction->peak_activation_bytes = plan.peak_bytes;
    prediction->peak_memory_bytes =
        prediction->weight_bytes + prediction->input_bytes + plan.peak_bytes;
  }
  return ok_status();
}

// At most kMemoryPoints, of each stretch the highest.
std::vector<std::pair<TimeNs, Bytes>> thinned(
    const std::vector<std::pair<TimeNs, Bytes>>& timeline) {
  const size_t stretch = (timeline.size() + kMemoryPoints - 1) / kMemoryPoints;
  std::vector<std::pair<TimeNs, Bytes>> kept;
  for (size_t begin = 0; begin < timeline.size(); begin += stretch) {
    const auto from = timeline.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to =
        timeline.begin() + static_cast<std::ptrdiff_t>(std::min(begin + stretch, timeline.size()));
    kept.push_back(*std::max_element(
        from, to, [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  return kept;
}

std::string_view memory_use_name(MemoryUse use) {
  constexpr std::array<std::string_view, 4> kNames = {"tensor", "copy", "workspace", "weights"};
  return kNames[static_cast<size_t>(use)];
}

std::vector<PredictedMemory> predicted_memory(const PredictionInput& input) {
  const ExecGraph& tasks = input.node_tasks == nullptr ? input.workload.graph : *input.node_tasks;
  std::vector<PredictedMemory> list;
  for (size_t d = 0; d < input.memory.size(); ++d) {
    const DeviceMemoryLog& log = input.memory[d];
    if (log.timeline.empty()) {
      continue;
    }
    PredictedMemory memory;
    memory.device = input.platform.devices[d].name;
    memory.peak_bytes = log.peak_bytes;
    memory.peak_ns = log.peak_ns;
    memory.timeline = thinned(log.timeline);
    for (size_t i = 0; i < std::min(log.at_peak.size(), kHeldTensors); ++i) {
      const HeldMemory& held = log.at_peak[i];
      const TaskId task = held.data.valid() ? tasks.data_producer(held.data) : held.task;
      const OpId op = task.valid() ? tasks.op(task) : OpId();
      memory.at_peak.push_back({op.valid()     ? input.executed.op(op).name
                                : task.valid() ? tasks.name(task)
                                               : "",
                                memory_use_name(held.use), held.bytes, held.since_ns});
    }
    list.push_back(std::move(memory));
  }
  return list;
}

LatencyInterval interval_of(const PredictionInput& input) {
  std::vector<DeviceId> devices;
  for (const TaskRecord& task : input.result.tasks) {
    devices.push_back(task.device);
  }
  return latency_interval(input.workload.graph, input.costs, devices, input.result.makespan_ns);
}

}  // namespace

StatusOr<Prediction> make_prediction(const PredictionInput& input) {
  DFSIM_ASSIGN_OR_RETURN(const CriticalPath path, critical_path(digraph_of(input.workload.graph),
                                                                task_durations(input.result)));
  Prediction prediction;
  prediction.model = input.model_name;
  prediction.hardware = input.platform.name;
  prediction.hardware_description = input.platform.description;
  const DeviceSpec& device = input.platform.devices[main_device(input)];
  prediction.device_model = device.model;
  prediction.device_type = device.type;
  prediction.runtime = input.platform.runtime.name;
  prediction.cost_model = std::string(input.cost_model);
  prediction.batch = input.report.batch;
  prediction.dims = input.report.dims;
  prediction.latency_ns = input.result.makespan_ns;
  prediction.interval = interval_of(input);
  prediction.host_busy_ns = input.result.host_busy_ns;
  prediction.critical_path_ns = path.length;
  prediction.macs = input.totals.macs;
  prediction.flops = input.totals.flops;
  prediction.parameters = input.totals.parameters;
  prediction.file_nodes = static_cast<size_t>(input.report.file_nodes);
  prediction.graph_ops = input.imported_ops;
  prediction.folded_ops = input.imported_ops - input.pruned_ops;
  prediction.fused_ops =
      static_cast<int64_t>(input.pruned_ops) - static_cast<int64_t>(input.executed.op_count());
  prediction.passes = input.passes;
  prediction.view_ops = input.executed.op_count() - input.workload.graph.task_count();
  prediction.unresolved = input.report.unresolved;
  prediction.notes = input.report.notes;
  prediction.ops = predicted_ops(input, path);
  prediction.copies = predicted_copies(input);
  prediction.memory = predicted_memory(input);
  prediction.classes =
      shares(prediction.ops, [](const PredictedOp& op) { return op_class_name(op.op_class); });
  prediction.bounds =
      shares(prediction.ops, [](const PredictedOp& op) { return bound_name(op.bound); });
  prediction.sources =
      shares(prediction.ops, [](const PredictedOp& op) { return cost_source_name(op.source); });
  set_rates(input, &prediction);
  DFSIM_RETURN_IF_ERROR(set_memory(input, &prediction));
  return prediction;
}

}  // namespace dfsim::inline report
