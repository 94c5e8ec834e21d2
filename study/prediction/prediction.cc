// Collects a Prediction from a finished simulation: operators in order of start, shares, rates,
// memory, and the verdict. Everything that text, JSON and HTML show is computed here, once.
#include "study/prediction/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "graphs/algorithms/dag.h"
#include "hardware/memory_levels.h"

namespace dfsim::inline study {
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

// From the order of tasks, which `reads` refers to, to the order of start.
std::vector<PredictedOp> in_order_of_start(std::vector<PredictedOp> by_task) {
  std::vector<uint32_t> order(by_task.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&by_task](uint32_t a, uint32_t b) {
    return by_task[a].start_ns < by_task[b].start_ns;
  });
  std::vector<uint32_t> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    position[order[i]] = static_cast<uint32_t>(i);
  }
  std::vector<PredictedOp> ops;
  ops.reserve(order.size());
  for (const uint32_t task : order) {
    for (uint32_t& read : by_task[task].reads) {
      read = position[read];
    }
    ops.push_back(std::move(by_task[task]));
  }
  return ops;
}

// The tasks whose results `task` waits for, each once.
std::vector<uint32_t> sources_of(const ExecGraph& tasks, TaskId task) {
  std::vector<uint32_t> sources;
  for (const uint32_t edge : tasks.in_edge_indices(task)) {
    sources.push_back(static_cast<uint32_t>(tasks.edges()[edge].from.index()));
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return sources;
}

std::vector<PredictedOp> predicted_ops(const PredictionInput& input, const CriticalPath& path) {
  std::vector<PredictedOp> ops;
  const ExecGraph& tasks = input.model.workload.graph;
  ops.reserve(tasks.task_count());
  for (size_t t = 0; t < tasks.task_count(); ++t) {
    const TaskId task(t);
    const TaskRecord& record = input.run.result.tasks[t];
    const Op& op = input.model.executed.op(tasks.op(task));
    const OpDescriptor& row = input.model.workload.rows[tasks.cost_row(task)];
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
    out.bound_ns = cost.bound_ns;
    out.source = cost.source;
    out.known_work = !has_unknown_work(input.model.executed, tasks.op(task));
    out.wait_ns = record.wait_ns;
    out.shape = row.output_extents.empty() ? "?" : format_shape(Shape::of(row.output_extents[0]));
    out.reads = sources_of(tasks, task);
    if (t < input.dispatches.size()) {
      out.dispatch = input.dispatches[t];
    }
    ops.push_back(std::move(out));
  }
  for (const uint32_t task : path.nodes) {
    ops[task].critical = true;
  }
  return in_order_of_start(std::move(ops));
}

std::vector<PredictedCopy> predicted_copies(const PredictionInput& input) {
  const ExecGraph& tasks = input.tasks;
  const auto node = [&](DeviceId device) {
    return device.valid() ? input.platform.device(device).name : input.platform.host.node;
  };
  std::vector<PredictedCopy> copies;
  copies.reserve(input.copies.size());
  for (const CopyRecord& copy : input.copies) {
    const TaskId producer = tasks.data_producer(copy.data);
    const OpId op = tasks.op(producer);
    PredictedCopy out;
    out.name = op.valid() ? input.model.executed.op(op).name : tasks.name(producer);
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

// Signed and unsigned integers of eight bits share their units.
std::string_view arithmetic_name(DType dtype) {
  return dtype_name(dtype == DType::kUInt8 ? DType::kInt8 : dtype);
}

// The device that computes longest; the first of equals.
size_t main_device(const PredictionInput& input) {
  const auto& uses = input.run.result.devices;
  return static_cast<size_t>(std::max_element(uses.begin(), uses.end(),
                                              [](const DeviceUse& a, const DeviceUse& b) {
                                                return a.busy_ns < b.busy_ns;
                                              }) -
                             uses.begin());
}

// A measured CPU's file has the rates of real kernels; a share of the peak is one of the roofs,
// which no code exceeds.
DeviceSpec with_own_roofs(const Platform& platform, const DeviceSpec& device) {
  if (device.type != DeviceType::kCpu || platform.source_file.empty()) {
    return device;
  }
  const auto roofs = load_roofs(platform.source_file, device.model);
  return roofs.ok() ? with_roofs(device, *roofs) : device;
}

// The dtype that most FLOPs are done in, and its peak on the device that does them.
void set_rates(const PredictionInput& input, Prediction* prediction) {
  std::map<DType, double> flops_by_dtype;
  bool matrix = false;
  for (size_t t = 0; t < input.model.workload.graph.task_count(); ++t) {
    const OpWork& work =
        input.model.workload.rows[input.model.workload.graph.cost_row(TaskId(t))].work;
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
  const DeviceSpec device =
      with_own_roofs(input.platform, input.platform.devices[main_device(input)]);
  prediction->peak_flops_per_s = device.peak_flops_per_s(prediction->main_dtype, matrix);
  if (prediction->latency_ns > 0) {
    const double seconds = static_cast<double>(prediction->latency_ns) * 1e-9;
    prediction->achieved_flops_per_s = static_cast<double>(prediction->flops) / seconds;
    prediction->throughput_per_s = static_cast<double>(prediction->batch) / seconds;
  }
}

Status set_memory(const PredictionInput& input, Prediction* prediction) {
  // Taken from the device that holds most.
  Bytes peak = 0;
  prediction->memory_bytes = input.platform.devices.front().memory_bytes;
  for (size_t d = 0; d < input.platform.devices.size(); ++d) {
    if (input.run.result.devices[d].peak_memory_bytes > peak) {
      peak = input.run.result.devices[d].peak_memory_bytes;
      prediction->memory_bytes = input.platform.devices[d].memory_bytes;
    }
    prediction->device_busy_ns += input.run.result.devices[d].busy_ns;
  }
  prediction->weight_bytes = input.model.workload.weight_bytes;
  prediction->input_bytes = input.model.workload.input_bytes;
  prediction->peak_activation_bytes = std::max<Bytes>(0, peak - input.model.workload.weight_bytes);
  prediction->peak_memory_bytes = peak + input.model.workload.input_bytes;
  DFSIM_ASSIGN_OR_RETURN(const std::optional<Bytes> arena,
                         arena_bytes(input.model, input.platform));
  if (arena) {
    prediction->peak_activation_bytes = *arena;
    prediction->peak_memory_bytes = prediction->weight_bytes + prediction->input_bytes + *arena;
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
  const ExecGraph& tasks = input.tasks;
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
      memory.at_peak.push_back({op.valid()     ? input.model.executed.op(op).name
                                : task.valid() ? tasks.name(task)
                                               : "",
                                memory_use_name(held.use), held.bytes, held.since_ns});
    }
    list.push_back(std::move(memory));
  }
  return list;
}

// Copies limit a run when they take longer than the devices and the host.
Limit limit_of(const Verdict& verdict) {
  if (verdict.copy_share > std::max(verdict.device_share, verdict.host_share)) {
    return Limit::kTransfers;
  }
  return verdict.device_share >= verdict.host_share ? Limit::kDevice : Limit::kHost;
}

}  // namespace

std::string_view source_name(const PredictedOp& op) {
  return op.known_work ? cost_source_name(op.source) : "unknown";
}

Verdict make_verdict(const Prediction& prediction) {
  Verdict verdict;
  if (prediction.latency_ns <= 0) {
    return verdict;
  }
  const auto latency = static_cast<double>(prediction.latency_ns);
  TimeNs copies_ns = 0;
  for (const PredictedCopy& copy : prediction.copies) {
    copies_ns += copy.duration_ns;
  }
  verdict.device_share = static_cast<double>(prediction.device_busy_ns) / latency;
  verdict.host_share = static_cast<double>(prediction.host_busy_ns) / latency;
  verdict.copy_share = static_cast<double>(copies_ns) / latency;
  verdict.limit = limit_of(verdict);
  if (!prediction.classes.empty()) {
    verdict.main_class = prediction.classes.front().name;
    verdict.class_share = prediction.classes.front().fraction;
  }
  if (!prediction.bounds.empty()) {
    verdict.main_bound = prediction.bounds.front().name;
    verdict.bound_share = prediction.bounds.front().fraction;
  }
  return verdict;
}

namespace {

// Share of the tasks' time that is a bare bound, as source_name() says it of each.
double bound_only_share(const PredictionInput& input) {
  const ExecGraph& tasks = input.model.workload.graph;
  TimeNs all_ns = 0;
  TimeNs bound_only_ns = 0;
  for (size_t t = 0; t < tasks.task_count(); ++t) {
    const TaskId task(t);
    const TaskRecord& record = input.run.result.tasks[t];
    const CostSource source = input.costs.at(tasks.cost_row(task), record.device).source;
    // A bound on sizes that are as large as they can be is not a lower limit.
    const bool is_bound = source == CostSource::kBoundOnly &&
                          !has_unknown_work(input.model.executed, tasks.op(task)) &&
                          !has_largest_sizes(input.model.executed, tasks.op(task));
    all_ns += record.end_ns - record.start_ns;
    bound_only_ns += is_bound ? record.end_ns - record.start_ns : 0;
  }
  return all_ns > 0 ? static_cast<double>(bound_only_ns) / static_cast<double>(all_ns) : 0;
}

// Counts the arithmetic of one run; of a training step all of it, not the forward pass alone.
void set_arithmetic(const LoadedModel& model, Prediction* prediction) {
  prediction->macs = model.totals.macs;
  prediction->flops = model.totals.flops;
  if (!model.is_training) {
    return;
  }
  prediction->macs = prediction->flops = 0;
  for (size_t t = 0; t < model.workload.graph.task_count(); ++t) {
    const OpWork& work = model.workload.rows[model.workload.graph.cost_row(TaskId(t))].work;
    prediction->macs += work.macs;
    prediction->flops += work.flops;
  }
}

// The parts that follow from model and machine alone, not from the run.
Prediction prediction_of_parts(const PredictionInput& input) {
  Prediction prediction;
  prediction.model = input.model.name;
  prediction.hardware = input.platform.name;
  prediction.hardware_description = input.platform.description;
  const DeviceSpec& device = input.platform.devices[main_device(input)];
  prediction.device_model = device.model;
  prediction.device_type = device.type;
  prediction.runtime = input.platform.runtime.name;
  prediction.cost_model = std::string(input.cost_model);
  prediction.batch = input.model.report.batch;
  prediction.dims = input.model.report.dims;
  prediction.open_dims = input.model.open_dims;
  set_arithmetic(input.model, &prediction);
  prediction.parameters = input.model.totals.parameters;
  prediction.file_nodes = static_cast<size_t>(input.model.report.file_nodes);
  prediction.graph_ops = input.model.imported_ops;
  prediction.folded_ops = input.model.source_ops - input.model.pruned_ops;
  prediction.fused_ops = static_cast<int64_t>(input.model.pruned_ops) -
                         static_cast<int64_t>(input.model.executed.op_count());
  prediction.passes = input.model.passes;
  prediction.view_ops = input.model.executed.op_count() - input.model.workload.graph.task_count();
  prediction.unresolved = input.model.report.unresolved;
  prediction.notes = input.model.report.notes;
  prediction.precision = input.model.precision;
  if (input.model.report.config && input.model.precision.empty() && !input.model.is_training) {
    prediction.published_weights = input.model.report.config->weights;
  }
  prediction.unknown = input.model.unknown;
  prediction.is_training = input.model.is_training;
  return prediction;
}

}  // namespace

StatusOr<Prediction> make_totals(const PredictionInput& input) {
  Prediction prediction = prediction_of_parts(input);
  prediction.latency_ns = input.run.result.makespan_ns;
  prediction.interval = input.run.interval;
  prediction.host_busy_ns = input.run.result.host_busy_ns;
  prediction.bound_only_share = bound_only_share(input);
  prediction.largest_share = input.run.largest_share;
  prediction.host_is_assumed =
      input.platform.host.dispatch_speed == 1 && prediction.device_type == DeviceType::kGpu;
  set_rates(input, &prediction);
  DFSIM_RETURN_IF_ERROR(set_memory(input, &prediction));
  return prediction;
}

StatusOr<Prediction> make_prediction(const PredictionInput& input) {
  DFSIM_ASSIGN_OR_RETURN(
      const CriticalPath path,
      critical_path(digraph_of(input.model.workload.graph), task_durations(input.run.result)));
  DFSIM_ASSIGN_OR_RETURN(Prediction prediction, make_totals(input));
  prediction.critical_path_ns = path.length;
  prediction.ops = predicted_ops(input, path);
  prediction.copies = predicted_copies(input);
  prediction.memory = predicted_memory(input);
  prediction.classes =
      shares(prediction.ops, [](const PredictedOp& op) { return op_class_name(op.op_class); });
  prediction.bounds =
      shares(prediction.ops, [](const PredictedOp& op) { return bound_name(op.bound); });
  prediction.sources =
      shares(prediction.ops, [](const PredictedOp& op) { return source_name(op); });
  prediction.precisions =
      shares(prediction.ops, [](const PredictedOp& op) { return arithmetic_name(op.dtype); });
  prediction.verdict = make_verdict(prediction);
  return prediction;
}

}  // namespace dfsim::inline study
