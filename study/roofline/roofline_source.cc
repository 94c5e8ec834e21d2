// Finds out what a roofline is asked of (model, trace, or runs file) and makes a report for each
// value of a sweep. Thread counts without a measured hardware file are extrapolated and marked.
#include "study/roofline/roofline_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "datasets/profiles/runs.h"
#include "datasets/traces/counters/counter_file.h"
#include "datasets/traces/trace_reader.h"
#include "opmodel/model/model_loader.h"
#include "study/chain/machine_source.h"
#include "study/chain/model_run.h"
#include "study/roofline/thread_scaling.h"
#include "study/roofline/trace_roofline.h"

namespace dfsim::inline study {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxSweep = 64;

StatusOr<DeviceId> find_device_of(const Platform& platform, const std::string& name) {
  std::vector<std::string> names;
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    names.push_back(platform.devices[d].name);
    if (name.empty() || platform.devices[d].name == name) {
      return DeviceId(d);
    }
  }
  return invalid_input(unknown_name_message("device", name, names));
}

StatusOr<RooflineReport> model_roofline(const RooflineSource& source, const ModelOptions& options,
                                        const Platform& platform, DeviceId device,
                                        const DeviceRoofs& roofs) {
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> cost_model,
                         load_cost_model_for(platform, source.cost_model));
  DFSIM_ASSIGN_OR_RETURN(const LoadedModel model, load_model(options, {}, platform));
  DFSIM_ASSIGN_OR_RETURN(const CostTable costs, cost_operators(model, platform, *cost_model));
  DFSIM_ASSIGN_OR_RETURN(
      RooflineReport roofline,
      make_roofline({model.name, model.report.batch, model.executed, model.workload, costs,
                     platform, device, cost_model->name(), roofs}));
  roofline.unknown = model.unknown;
  return roofline;
}

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

// The model's options with the dimensions that `at` sets.
ModelOptions options_at(const RooflineSource& source, const std::map<std::string, int64_t>& at) {
  ModelOptions options = source.model;
  for (const auto& [name, value] : at) {
    if (name == "batch") {
      options.batch = value;
    } else if (name != "threads" && name != "processes") {
      options.dims.push_back(fmt::format("{}={}", name, value));
    }
  }
  return options;
}

// On a machine that is loaded.
StatusOr<RooflineReport> roofline_on(const RooflineSource& source, RooflineKind kind,
                                     const std::map<std::string, int64_t>& at,
                                     const Platform& platform, const std::string& hardware,
                                     const Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const DeviceId device, find_device_of(platform, source.device));
  DFSIM_ASSIGN_OR_RETURN(const DeviceRoofs roofs,
                         load_device_roofs(hardware, platform.device(device)));
  const auto batch = at.find("batch");
  if (kind == RooflineKind::kTrace) {
    DFSIM_ASSIGN_OR_RETURN(Trace trace, read_trace(source.model.path, progress.read_bytes()));
    for (const std::string& file : source.counters) {
      DFSIM_RETURN_IF_ERROR(add_counter_file(file, &trace).status());
    }
    return make_trace_roofline(trace, platform, roofs);
  }
  if (kind == RooflineKind::kRuns) {
    const int64_t size =
        batch != at.end() ? batch->second : std::max<int64_t>(source.model.batch, 1);
    return runs_roofline(source, size, platform, roofs);
  }
  return model_roofline(source, options_at(source, at), platform, device, roofs);
}

// The cores that `at` asks for: all of them, divided among the processes, unless it has threads.
StatusOr<CoreShare> share_of(const std::map<std::string, int64_t>& at, const DeviceSpec& device) {
  const auto threads = at.find("threads");
  const auto processes = at.find("processes");
  const int64_t cores = device.compute_units;
  CoreShare share;
  share.processes = processes == at.end() ? 1 : processes->second;
  share.threads =
      threads == at.end() ? std::max<int64_t>(cores / share.processes, 1) : threads->second;
  if (share.threads > cores / share.processes) {
    const std::string copies =
        share.processes == 1 ? "" : fmt::format("{} processes x ", share.processes);
    return invalid_input(fmt::format(
        "--sweep: found {}{} threads, expected at most the {} cores of {}; --hw names a larger "
        "machine",
        copies, share.threads, cores, printable(device.model)));
  }
  return share;
}

// At threads that no hardware file was measured with, or as several processes.
StatusOr<RooflineReport> extrapolated_roofline(const RooflineSource& source, RooflineKind kind,
                                               const std::map<std::string, int64_t>& at) {
  DFSIM_ASSIGN_OR_RETURN(
      Platform platform,
      load_machine(source.hardware, runtime_for(source.model.path, source.runtime),
                   source.model.precision));
  DFSIM_ASSIGN_OR_RETURN(const DeviceId device, find_device_of(platform, source.device));
  DeviceSpec& spec = platform.devices[device.index()];
  if (spec.type != DeviceType::kCpu || kind != RooflineKind::kModel) {
    return not_found(
        fmt::format("--sweep: found {}, expected a model on a CPU, such as epyc-7742, for threads "
                    "and processes",
                    printable(spec.model)));
  }
  DFSIM_ASSIGN_OR_RETURN(const CoreShare share, share_of(at, spec));
  DFSIM_ASSIGN_OR_RETURN(const ThreadScaling scaling, scaling_for(spec));
  DFSIM_ASSIGN_OR_RETURN(const DeviceRoofs whole, load_device_roofs(source.hardware, spec));
  DeviceRoofs core = whole;
  core.device = shared_device(whole.device, {}, scaling);
  for (MemoryLevel& level : core.caches) {
    level.bytes_per_s /= std::max(spec.compute_units, 1);
  }
  spec = shared_device(spec, {}, scaling);
  DFSIM_ASSIGN_OR_RETURN(const RooflineReport one,
                         model_roofline(source, options_at(source, at), platform, device, core));
  return scaled_roofline(one, whole, share, scaling);
}

}  // namespace

StatusOr<Sweep> parse_sweep(const std::string& text) {
  Sweep sweep;
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid_input(fmt::format(
        "--sweep: found '{}', expected batch=1,8,32, threads=1,2,4 or NAME=1,8,32 for a dimension",
        printable(text)));
  }
  sweep.name = text.substr(0, equals);
  for (const std::string& part : split(text.substr(equals + 1), ',')) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 1) {
      return invalid_input(
          fmt::format("--sweep: '{}' is not a whole number above 0", printable(part)));
    }
    if (!sweep.values.empty() && value <= sweep.values.back()) {
      return invalid_input(
          fmt::format("--sweep: {} after {}, expected rising values", value, sweep.values.back()));
    }
    sweep.values.push_back(value);
  }
  if (sweep.values.size() < 2 || sweep.values.size() > kMaxSweep) {
    return invalid_input(
        fmt::format("--sweep: {} values, expected 2 to {}", sweep.values.size(), kMaxSweep));
  }
  return sweep;
}

namespace {

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

}  // namespace

StatusOr<RooflineKind> roofline_kind(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const fs::path folder(path);
    const bool model = fs::exists(folder / "saved_model.pb", error) ||
                       fs::exists(folder / "saved_model.pbtxt", error);
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
  const size_t first = head.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (head[first] == '{' || head[first] == '[');
  return json || head.starts_with("\x1f\x8b") ? RooflineKind::kTrace : RooflineKind::kModel;
}

StatusOr<DeviceRoofs> load_device_roofs(const std::string& hardware, const DeviceSpec& device) {
  DFSIM_ASSIGN_OR_RETURN(Roofs roofs, load_roofs(hardware, device.model));
  DeviceRoofs found;
  found.device = with_roofs(device, roofs);
  found.of_all_levels = !roofs.empty();
  found.source = std::move(roofs.source);
  DFSIM_ASSIGN_OR_RETURN(found.caches, load_memory_levels(hardware, device.model));
  return found;
}

StatusOr<RooflineReport> load_roofline(const RooflineSource& source, RooflineKind kind,
                                       const std::map<std::string, int64_t>& at,
                                       const Progress& progress) {
  Platform platform;
  std::string hardware = source.hardware;
  const auto threads = at.find("threads");
  if (at.count("processes") != 0) {
    return extrapolated_roofline(source, kind, at);
  }
  if (threads == at.end()) {
    DFSIM_ASSIGN_OR_RETURN(
        platform, load_machine(source.hardware, runtime_for(source.model.path, source.runtime),
                               source.model.precision));
  } else {
    auto measured =
        machine_with_threads(source.hardware, source.runtime, threads->second, &hardware);
    // A data sheet's machine has as many cores as threads, but no measurement used them.
    const bool at_hand = measured.ok() && has_measured_peaks(measured->devices.front());
    if (!at_hand) {
      auto scaled = extrapolated_roofline(source, kind, at);
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
