// The PyTorch profiler's (Kineto's) JSON trace, recorded with shapes.
//
// cat "cpu_op" (older "Operator"): one call of an operator, args "External id", "Input Dims",
// "Input type", "Input Strides", "Concrete Inputs". Device work: cat kernel | gpu_memcpy |
// gpu_memset, linked to the call by "External id", or by "correlation" through the runtime's launch
// event, which lies inside the call in time. A row is one operator with the same arguments: its
// time is the sum of its kernels (kernel-only), the median over the calls, and count the calls per
// "ProfilerStep#". A trace without device work (CPU only) gives the wall time of the innermost
// operators that do something.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/text.h"
#include "datasets/events/event_file.h"
#include "datasets/events/json_text.h"
#include "datasets/importers/importer_list.h"
#include "datasets/importers/row_sink.h"
#include "datasets/importers/torch/torch_ops.h"
#include "datasets/profiles/statistics.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

constexpr size_t kNoCall = SIZE_MAX;

struct Call {
  std::string_view name;
  std::string_view dims;
  std::string_view types;
  std::string_view strides;
  std::string_view values;
  std::string_view thread;
  int64_t event = 0;
  double start_us = 0;
  double end_us = 0;
  double device_us = 0;
  size_t parent = kNoCall;
  bool has_working_child = false;
  std::string_view kernel;  // the longest
  double kernel_us = 0;
};

struct DeviceWork {
  std::string_view name;
  double duration_us = 0;
  int64_t external_id = -1;
  int64_t correlation = -1;
};

struct Launch {
  std::string_view thread;
  double start_us = 0;
  int64_t external_id = -1;
};

struct KinetoRun {
  TextPool texts;
  std::vector<Call> calls;
  std::vector<DeviceWork> work;
  std::unordered_map<int64_t, size_t> call_by_id;
  std::unordered_map<int64_t, Launch> launch_by_correlation;
  int64_t steps = 0;
  std::string device;
};

bool any_of(std::string_view text, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

std::string_view first_arg(const ChromeEvent& event, std::string_view name,
                           std::string_view older) {
  const std::string_view value = event.arg(name);
  return value.empty() ? event.arg(older) : value;
}

int64_t id_of(std::string_view json) {
  return parse_number<int64_t>(unquote_json(json)).value_or(-1);
}

void read_kineto_event(const ChromeEvent& event, KinetoRun* trace) {
  if (event.phase != "X" || !event.has_duration() || event.duration_us < 0) {
    return;
  }
  const double start_us = event.has_start() ? event.start_us : -1;
  TextPool& texts = trace->texts;
  const int64_t external_id = id_of(first_arg(event, "External id", "external id"));
  const int64_t correlation = id_of(event.arg("correlation"));
  if (any_of(event.category, {"cpu_op", "Operator"})) {
    Call call;
    call.name = texts.keep(event.name);
    call.dims = texts.keep(first_arg(event, "Input Dims", "Input dims"));
    call.types = texts.keep(first_arg(event, "Input type", "Input Types"));
    call.strides = texts.keep(event.arg("Input Strides"));
    call.values = texts.keep(event.arg("Concrete Inputs"));
    call.thread = texts.keep(event.thread);
    call.event = event.index;
    call.start_us = start_us;
    call.end_us = start_us + event.duration_us;
    if (external_id >= 0) {
      trace->call_by_id[external_id] = trace->calls.size();
    }
    trace->calls.push_back(call);
  } else if (any_of(event.category,
                    {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"})) {
    trace->work.push_back({texts.keep(event.name), event.duration_us, external_id, correlation});
  } else if (any_of(event.category, {"cuda_runtime", "cuda_driver", "Runtime", "hip_runtime"})) {
    trace->launch_by_correlation[correlation] = {texts.keep(event.thread), start_us, external_id};
  } else if (event.name.starts_with("ProfilerStep#") && event.category != "gpu_user_annotation") {
    ++trace->steps;
  }
}

void read_kineto_field(std::string_view key, std::string_view json, KinetoRun* trace) {
  if (key != "deviceProperties") {
    return;
  }
  const size_t name = json.find("\"name\"");
  const size_t open = name == std::string_view::npos ? name : json.find('"', name + 6);
  const size_t close = open == std::string_view::npos ? open : json.find('"', open + 1);
  if (close != std::string_view::npos) {
    trace->device = std::string(json.substr(open + 1, close - open - 1));
  }
}

// Calls of each thread in order of their start, parents before children.
using ByThread = std::map<std::string_view, std::vector<size_t>>;

ByThread nest_calls(KinetoRun* trace) {
  ByThread threads;
  std::vector<Call>& calls = trace->calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    threads[calls[i].thread].push_back(i);
  }
  for (auto& [thread, order] : threads) {
    std::stable_sort(order.begin(), order.end(), [&calls](size_t a, size_t b) {
      return calls[a].start_us != calls[b].start_us ? calls[a].start_us < calls[b].start_us
                                                    : calls[a].end_us > calls[b].end_us;
    });
    std::vector<size_t> open;
    for (const size_t i : order) {
      while (!open.empty() && calls[open.back()].end_us <= calls[i].start_us) {
        open.pop_back();
      }
      calls[i].parent = open.empty() ? kNoCall : open.back();
      if (!is_torch_bookkeeping(calls[i].name)) {
        // Who has the mark has passed it on to all its ancestors already.
        for (size_t a = calls[i].parent; a != kNoCall && !calls[a].has_working_child;
             a = calls[a].parent) {
          calls[a].has_working_child = true;
        }
      }
      open.push_back(i);
    }
  }
  return threads;
}

// The innermost call of the thread that runs at this time, or kNoCall.
size_t call_at(const KinetoRun& trace, const ByThread& threads, const Launch& launch) {
  const auto thread = threads.find(launch.thread);
  if (thread == threads.end()) {
    return kNoCall;
  }
  const std::vector<size_t>& order = thread->second;
  const auto after =
      std::upper_bound(order.begin(), order.end(), launch.start_us,
                       [&trace](double time, size_t i) { return time < trace.calls[i].start_us; });
  size_t i = after == order.begin() ? kNoCall : *std::prev(after);
  while (i != kNoCall && trace.calls[i].end_us < launch.start_us) {
    i = trace.calls[i].parent;
  }
  return i;
}

size_t call_of(const KinetoRun& trace, const ByThread& threads, const DeviceWork& work) {
  const auto by_id = [&trace](int64_t id) {
    const auto it = trace.call_by_id.find(id);
    return it == trace.call_by_id.end() ? kNoCall : it->second;
  };
  size_t call = by_id(work.external_id);
  const auto launch = trace.launch_by_correlation.find(work.correlation);
  if (call == kNoCall && launch != trace.launch_by_correlation.end()) {
    call = by_id(launch->second.external_id);
    call = call == kNoCall ? call_at(trace, threads, launch->second) : call;
  }
  return call;
}

// Calls of one operator with the same arguments.
struct Group {
  size_t first = 0;
  std::vector<double> times_ns;
};

class CallGroups {
 public:
  CallGroups(const KinetoRun& trace, RowSink& sink) : trace_(trace), sink_(sink) {}

  void add(size_t i, double time_us) {
    const Call& call = trace_.calls[i];
    Group& group = groups_[{call.name, call.dims, call.types, call.strides, call.values}];
    if (group.times_ns.empty()) {
      group.first = i;
    }
    group.times_ns.push_back(time_us * kNsPerUs);
  }

  void write(const ProfileRow& common);

 private:
  const KinetoRun& trace_;
  RowSink& sink_;
  std::map<std::array<std::string_view, 5>, Group> groups_;
};

void CallGroups::write(const ProfileRow& common) {
  std::vector<Group*> in_order;
  for (auto& [key, group] : groups_) {
    in_order.push_back(&group);
  }
  std::sort(in_order.begin(), in_order.end(),
            [](const Group* a, const Group* b) { return a->first < b->first; });
  Profile& profile = sink_.profile();
  for (Group* group : in_order) {
    const Call& call = trace_.calls[group->first];
    const TorchOp op = describe_torch_op(
        call.name, parse_torch_arguments(call.dims, call.types, call.strides, call.values));
    if (op.inputs.empty()) {
      sink_.drop(
          call.event, DropReason::kUnsupported,
          fmt::format("'{}' has no shapes; record with record_shapes=True", printable(call.name)));
      continue;
    }
    ProfileRow row = common;
    row.op_type = profile.intern(op.op_type);
    row.op_class = op.op_class;
    row.inputs = profile.intern(op.inputs);
    row.outputs = profile.intern(op.outputs);
    row.attributes = profile.intern(op.attributes);
    row.name = profile.intern(call.name);
    row.kernel = profile.intern(printable(call.kernel));
    const auto calls = static_cast<int64_t>(group->times_ns.size());
    row.samples = static_cast<int32_t>(calls);
    row.count =
        static_cast<int32_t>(std::max<int64_t>(1, calls / std::max<int64_t>(trace_.steps, 1)));
    const double spread = calls > 1 ? standard_deviation(group->times_ns) : -1;
    sink_.add(row, call.event, median(group->times_ns), spread);
  }
}

class KinetoImporter : public Importer {
 public:
  std::string_view name() const override { return "kineto"; }
  std::string_view description() const override {
    return "PyTorch profiler JSON (record_shapes=True)";
  }
  Status import(const std::string& path, const ProfileImportOptions& options, Profile& profile,
                DropReport* drops) const override;
};

Status KinetoImporter::import(const std::string& path, const ProfileImportOptions& options,
                              Profile& profile, DropReport* drops) const {
  KinetoRun trace;
  DFSIM_RETURN_IF_ERROR(read_event_file(
      path, [&trace](const ChromeEvent& event) { read_kineto_event(event, &trace); },
      [&trace](std::string_view key, std::string_view json) {
        read_kineto_field(key, json, &trace);
      }));
  if (trace.calls.empty()) {
    return invalid_input(fmt::format(
        "{}: no events of cat cpu_op; is this a PyTorch profiler trace with CPU activities?",
        path));
  }
  const ByThread threads = nest_calls(&trace);
  RowSink sink(profile, drops, path);
  int64_t unlinked = 0;
  for (const DeviceWork& work : trace.work) {
    const size_t i = call_of(trace, threads, work);
    if (i == kNoCall) {
      ++unlinked;
      continue;
    }
    Call& call = trace.calls[i];
    call.device_us += work.duration_us;
    if (work.duration_us > call.kernel_us) {
      call.kernel_us = work.duration_us;
      call.kernel = work.name;
    }
  }
  if (unlinked > 0) {
    drops->add(
        path, 0, DropReason::kUnsupported,
        fmt::format("{} pieces of device work that belong to no recorded operator", unlinked),
        unlinked);
  }
  CallGroups groups(trace, sink);
  const bool on_device = !trace.work.empty();
  for (size_t i = 0; i < trace.calls.size(); ++i) {
    const Call& call = trace.calls[i];
    if (on_device && call.device_us > 0) {
      groups.add(i, call.device_us);
    } else if (!on_device && !call.has_working_child && !is_torch_bookkeeping(call.name)) {
      groups.add(i, call.end_us - call.start_us);
    }
  }
  ProfileRow common;
  const std::string file = std::filesystem::path(path).filename().string();
  common.network = profile.intern(file.substr(0, file.find('.')));
  common.provenance = profile.intern("PyTorch profiler");
  common.timing = on_device ? TimingKind::kKernelOnly : TimingKind::kInNetwork;
  set_origin(profile, options, on_device ? (trace.device.empty() ? "GPU" : trace.device) : "CPU",
             "pytorch", "", &common);
  groups.write(common);
  return ok_status();
}

}  // namespace

std::unique_ptr<Importer> make_kineto_importer() { return std::make_unique<KinetoImporter>(); }

}  // namespace dfsim::inline datasets
