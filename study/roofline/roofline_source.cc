// Finds out what a roofline is asked of (model, trace, or runs file) and makes a report for each
// value of a sweep. Thread counts without a measured hardware file are extrapolated and marked.
#include "study/roofline/roofline_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/io/text_file.h"
#include "base/text.h"
#include "datasets/profiles/runs.h"
#include "datasets/traces/counters/counter_file.h"
#include "datasets/traces/trace_reader.h"
#include "study/chain/machine_source.h"
#include "study/roofline/model_roofline.h"
#include "study/roofline/trace_roofline.h"

namespace dfsim::inline study {
namespace {

namespace fs = std::filesystem;

// One point per network: all of its work, in the time that was measured.
StatusOr<RooflineReport> runs_roofline(const RooflineSource& source, int64_t batch,
                                       const Platform& platform, const DeviceRoofs& roofs) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<NetworkRun> runs, read_runs(source.model.path));
  const DeviceSpec& spec = roofs.device;
  RooflineReport roofline;
  roofline.model = fs::path(source.model.path).filename().string();
  roofline.hardware = platform.name;
  roofline.measured = true;
  roofline.batch = batch;
  for (const NetworkRun& run : runs) {
    if (run.device != spec.model || run.batch != batch) {
      continue;
    }
    ModelOptions options = source.model;
    DFSIM_ASSIGN_OR_RETURN(options.path, find_network(run.network, source.networks));
    options.batch = run.batch;
    options.static_dims = !run.open_shapes;
    options.dims = run.dims;
    DFSIM_ASSIGN_OR_RETURN(const LoadedModel model, load_model(options, {}, platform));
    roofline.unknown = roofline.unknown.complete() ? model.unknown : roofline.unknown;
    RoofPoint sum;
    for (size_t t = 0; t < model.workload.graph.task_count(); ++t) {
      const OpDescriptor& op = model.workload.rows[model.workload.graph.cost_row(TaskId(t))];
      const RoofPoint point = roof_point(roofs, op, 0);
      sum.flops += point.flops;
      sum.bytes += point.bytes;
      sum.bound_s += point.bound_s;
      sum.compute_s += point.compute_s;
      sum.memory_s += point.memory_s;
      sum.launch_s += point.launch_s;
    }
    sum.name = run.network;
    sum.op_type = "network";
    sum.dtype = run.dtype;
    sum.time_s = static_cast<double>(run.time_ns) / kNsPerSecond;
    sum.roof_flops_per_s = sum.bound_s > 0 ? sum.flops / sum.bound_s : 0;
    sum.bound = sum.compute_s > sum.memory_s ? Bound::kCompute : Bound::kMemory;
    sum.source = CostSource::kMeasured;
    roofline.ops.push_back(std::move(sum));
  }
  if (roofline.ops.empty()) {
    return invalid_input(fmt::format(
        "{}: no run at batch {} on '{}', which {} describes; name the hardware of the runs with "
        "--hw",
        source.model.path, batch, printable(spec.model), platform.name));
  }
  finish_roofline(roofs, &roofline);
  roofline.classes = roofline.ops;  // a line per network
  return roofline;
}

// On a machine that is loaded.
StatusOr<RooflineReport> roofline_on(const RooflineSource& source, RooflineKind kind,
                                     const RooflineSetting& at, const Platform& platform,
                                     const std::string& hardware, const Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const DeviceId device, find_roofline_device(platform, source.device));
  DFSIM_ASSIGN_OR_RETURN(const DeviceRoofs roofs,
                         load_device_roofs(hardware, platform.device(device)));
  const auto batch = at.sizes.find("batch");
  if (kind == RooflineKind::kTrace) {
    DFSIM_ASSIGN_OR_RETURN(Trace trace, read_trace(source.model.path, progress.read_bytes()));
    for (const std::string& file : source.counters) {
      DFSIM_RETURN_IF_ERROR(add_counter_file(file, &trace).status());
    }
    return make_trace_roofline(trace, platform, roofs);
  }
  if (kind == RooflineKind::kRuns) {
    const int64_t size =
        batch != at.sizes.end() ? batch->second : std::max<int64_t>(source.model.batch, 1);
    return runs_roofline(source, size, platform, roofs);
  }
  DFSIM_ASSIGN_OR_RETURN(ModelRoofline found, model_roofline(source, at, platform, device, roofs));
  return std::move(found.report);
}

// A runs file has measured latencies, which no other precision or layout changes.
Status check_sweepable(RooflineKind kind, const RooflineSetting& at) {
  const std::string& name = !at.precision.empty() ? at.precision : at.layout;
  return kind == RooflineKind::kModel || name.empty()
             ? ok_status()
             : invalid_input(fmt::format("--sweep: found '{}' for what was measured, expected a "
                                         "model; precision and layout are predictions",
                                         printable(name)));
}

// LTTng puts the traces of user space several folders deep (ust/uid/0/64-bit).
bool holds_ctf(const fs::path& folder) {
  constexpr int kMostLevels = 6;
  std::error_code error;
  if (fs::exists(folder / "metadata", error)) {
    return true;
  }
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (it->path().filename() == "metadata") {
      return true;
    }
    if (it.depth() >= kMostLevels) {
      it.disable_recursion_pending();
    }
  }
  return false;
}

// Traces are JSON, too, but they are larger, and none has the key by which every config of Hugging
// Face names its architecture.
bool is_model_config(const std::string& path) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const StatusOr<std::string> text = read_text_file(path, kMostBytes);
  return text.ok() && text->find("\"model_type\"") != std::string::npos;
}

}  // namespace

StatusOr<RooflineKind> roofline_kind(const std::string& path) {
  std::error_code error;
  if (path.starts_with("hf:")) {
    return RooflineKind::kModel;
  }
  if (fs::is_directory(path, error)) {
    const fs::path folder(path);
    const bool model = fs::exists(folder / "saved_model.pb", error) ||
                       fs::exists(folder / "saved_model.pbtxt", error) ||
                       fs::exists(folder / "config.json", error);
    return !model && holds_ctf(folder) ? RooflineKind::kTrace : RooflineKind::kModel;
  }
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    return invalid_input(fmt::format("{}: is not a regular file; write it to a file", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return not_found(fmt::format("{}: no such file", path));
  }
  std::string head(256, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  if (head.starts_with("network,")) {
    return RooflineKind::kRuns;
  }
  const std::string name = to_lower(path);
  const bool packed_table = name.ends_with(".csv.gz") || name.ends_with(".csv.xz");
  if (name.ends_with(".onnx.gz") || packed_table) {  // other packed files are traces
    return packed_table ? RooflineKind::kRuns : RooflineKind::kModel;
  }
  const size_t first = head.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (head[first] == '{' || head[first] == '[');
  if (json && is_model_config(path)) {
    return RooflineKind::kModel;
  }
  return json || head.starts_with("\x1f\x8b") ? RooflineKind::kTrace : RooflineKind::kModel;
}

StatusOr<RooflineReport> load_roofline(const RooflineSource& source, RooflineKind kind,
                                       const RooflineSetting& at, const Progress& progress) {
  DFSIM_RETURN_IF_ERROR(check_sweepable(kind, at));
  Platform platform;
  std::string hardware = source.hardware;
  if (at.divides_cores()) {
    return core_roofline(source, kind, at);
  }
  const std::string& precision = at.precision.empty() ? source.model.precision : at.precision;
  if (at.threads == 0) {
    DFSIM_ASSIGN_OR_RETURN(
        platform,
        load_machine(source.hardware, runtime_for(source.model.path, source.runtime), precision));
  } else {
    auto measured = machine_with_threads(source.hardware, source.runtime, at.threads, &hardware);
    // A data sheet's machine has as many cores as threads, but no measurement used them.
    const bool at_hand = measured.ok() && has_measured_peaks(measured->devices.front());
    if (!at_hand) {
      auto scaled = core_roofline(source, kind, at);
      if (scaled.ok() || scaled.status().code() != StatusCode::kNotFound) {
        return scaled;
      }
      DFSIM_RETURN_IF_ERROR(measured.status());
    }
    platform = std::move(measured).value();
  }
  return roofline_on(source, kind, at, platform, hardware, progress);
}

}  // namespace dfsim::inline study
