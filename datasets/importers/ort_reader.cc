// ONNX Runtime's profile: a JSON array of events (older: {"traceEvents": [...]}), times in whole
// us.
//
// cat "Node": name "<node>_kernel_time", args op_name, provider, input_type_shape and
// output_type_shape ([{"float":[1,256]}], inputs in ONNX order with those left out skipped), and
// activation_size, parameter_size, output_size in bytes. cat "Session": model_run once per
// inference; the first is cold and left out when there is another. One row per node: the median
// over the runs. Shapes are missing before ORT 1.8: then operands are given by their bytes alone
// (format BYTES). Attributes are not recorded: a convolution's are guessed from its shapes
// (tensor_lists.h). On a provider other than the CPU's a node's time is that of its launch: only
// device kernels (cat "Kernel", args parent_name or op_name) count there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>

#include "base/text.h"
#include "datasets/events/event_file.h"
#include "datasets/events/json_text.h"
#include "datasets/importers/importer_list.h"
#include "datasets/importers/op_names.h"
#include "datasets/importers/ort_shapes.h"
#include "datasets/importers/row_sink.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/profiles/statistics.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

constexpr std::string_view kKernelTime = "_kernel_time";
constexpr std::string_view kProviderSuffix = "ExecutionProvider";

// One execution of a node.
struct Execution {
  double start_us = 0;
  double host_us = 0;
  double device_us = 0;  // of its kernels; 0 = none recorded
};

struct Node {
  std::string_view op_type;
  std::string_view provider;
  std::string_view input_shapes;
  std::string_view output_shapes;
  std::string_view activation_bytes;
  std::string_view parameter_bytes;
  std::string_view output_bytes;
  int64_t first_event = 0;
  std::vector<Execution> executions;
};

struct OrtRun {
  TextPool texts;
  // By name and shapes: with dynamic shapes a node has several rows.
  std::map<std::pair<std::string_view, std::string_view>, Node> nodes;
  std::vector<std::pair<double, double>> runs;  // start and end, us
  // By name: where kernels belong.
  std::map<std::string_view, std::pair<std::string_view, std::string_view>> latest;
};

// Providers whose nodes only queue work on a device.
bool asynchronous(std::string_view provider) {
  constexpr std::array<std::string_view, 9> kPrefixes = {
      "CUDA", "ROCM", "Tensorrt", "NvTensorRT", "MIGraphX", "Dml", "WebGpu", "Js", "CANN"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [provider](std::string_view prefix) { return provider.starts_with(prefix); });
}

void append_bytes(std::string_view json, TensorList* tensors) {
  const int64_t bytes = parse_number<int64_t>(unquote_json(json)).value_or(0);
  if (bytes > 0) {
    tensors->push_back(tensor(DType::kUInt8, {bytes}, std::string(kBytesFormat)));
  }
}

void read_ort_event(const ChromeEvent& event, OrtRun* trace) {
  if (event.phase != "X" || !event.has_duration() || event.duration_us < 0) {
    return;
  }
  const double start_us = event.has_start() ? event.start_us : -1;
  if (event.category == "Session" && event.name == "model_run") {
    trace->runs.emplace_back(start_us, start_us + event.duration_us);
  }
  if (event.category == "Kernel") {
    std::string_view parent = unquote_json(event.arg("parent_name"));
    parent = parent.empty() ? unquote_json(event.arg("op_name")) : parent;
    if (parent.ends_with(kKernelTime)) {
      parent.remove_suffix(kKernelTime.size());
    }
    const auto it = trace->latest.find(parent);
    if (it != trace->latest.end()) {
      trace->nodes[it->second].executions.back().device_us += event.duration_us;
    }
  }
  if (event.category != "Node" || !event.name.ends_with(kKernelTime)) {
    return;
  }
  const std::string_view name =
      trace->texts.keep(event.name.substr(0, event.name.size() - kKernelTime.size()));
  const std::pair key(name, trace->texts.keep(event.arg("input_type_shape")));
  Node& node = trace->nodes[key];
  if (node.executions.empty()) {
    const auto kept = [&](std::string_view arg) { return trace->texts.keep(event.arg(arg)); };
    node.op_type = unquote_json(kept("op_name"));
    node.provider = unquote_json(kept("provider"));
    node.input_shapes = key.second;
    node.output_shapes = kept("output_type_shape");
    node.activation_bytes = kept("activation_size");
    node.parameter_bytes = kept("parameter_size");
    node.output_bytes = kept("output_size");
    node.first_event = event.index;
  }
  node.executions.push_back({start_us, event.duration_us, 0});
  trace->latest[name] = key;
}

// Operands and guessed attributes; false when the shapes cannot be read.
bool describe(const Node& node, Profile& profile, ProfileRow* row) {
  TensorList inputs;
  TensorList outputs;
  if (!parse_ort_shapes(node.input_shapes, &inputs) ||
      !parse_ort_shapes(node.output_shapes, &outputs)) {
    return false;
  }
  if (inputs.empty() && outputs.empty()) {
    append_bytes(node.activation_bytes, &inputs);
    append_bytes(node.parameter_bytes, &inputs);
    append_bytes(node.output_bytes, &outputs);
  } else {
    row->attributes = profile.intern(guess_ort_attributes(node.op_type, inputs, outputs));
  }
  row->inputs = profile.intern(inputs);
  row->outputs = profile.intern(outputs);
  return true;
}

void add_node(std::string_view name, const Node& node, const OrtRun& trace, ProfileRow row,
              RowSink& sink) {
  const double warm_us = trace.runs.size() > 1 ? trace.runs.front().second : -1;
  const bool queued = asynchronous(node.provider);
  std::vector<double> times;
  for (const Execution& run : node.executions) {
    const bool on_device = run.device_us > 0;
    if (run.start_us >= warm_us && (!queued || on_device)) {
      times.push_back((on_device ? run.device_us : run.host_us) * kNsPerUs);
    }
  }
  if (times.empty()) {
    sink.drop(node.first_event, DropReason::kNoTime,
              fmt::format("'{}' on {} has no {}", printable(name), printable(node.provider),
                          queued ? "device kernels" : "run after the first"));
    return;
  }
  if (node.op_type.empty() || !describe(node, sink.profile(), &row)) {
    sink.drop(node.first_event, DropReason::kMalformed,
              fmt::format("'{}' has no op_name or unreadable shapes", printable(name)));
    return;
  }
  row.op_type = sink.profile().intern(node.op_type);
  row.op_class = onnx_op_class(node.op_type);
  row.name = sink.profile().intern(name);
  row.timing = queued ? TimingKind::kKernelOnly : TimingKind::kInNetwork;
  row.samples = static_cast<int32_t>(times.size());
  const double spread = times.size() > 1 ? standard_deviation(times) : -1;
  sink.add(row, node.first_event, median(times), spread);
}

class OrtImporter : public Importer {
 public:
  std::string_view name() const override { return "ort"; }
  std::string_view description() const override {
    return "ONNX Runtime profile JSON (enable_profiling)";
  }
  Status import(const std::string& path, const ProfileImportOptions& options, Profile& profile,
                DropReport* drops) const override;
};

std::string network_of(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  return file.substr(0, file.find('.'));
}

Status OrtImporter::import(const std::string& path, const ProfileImportOptions& options,
                           Profile& profile, DropReport* drops) const {
  OrtRun trace;
  DFSIM_RETURN_IF_ERROR(read_event_file(
      path, [&trace](const ChromeEvent& event) { read_ort_event(event, &trace); },
      [](std::string_view /*key*/, std::string_view /*json*/) {}));
  if (trace.nodes.empty()) {
    return invalid_input(fmt::format(
        "{}: no '..._kernel_time' events of cat Node; is this ONNX Runtime's profile?", path));
  }
  std::sort(trace.runs.begin(), trace.runs.end());
  std::vector<std::pair<std::string_view, const Node*>> in_order;
  for (const auto& [key, node] : trace.nodes) {
    in_order.emplace_back(key.first, &node);
  }
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return a.second->first_event < b.second->first_event;
  });
  RowSink sink(profile, drops, path);
  const TextId provenance = profile.intern("ONNX Runtime profile");
  for (const auto& [name, node] : in_order) {
    ProfileRow row;
    row.network = profile.intern(network_of(path));
    std::string_view device = node->provider;
    if (device.ends_with(kProviderSuffix)) {
      device.remove_suffix(kProviderSuffix.size());
    }
    set_origin(profile, options, device.empty() ? "CPU" : device, "onnxruntime", "", &row);
    row.provenance = provenance;
    add_node(name, *node, trace, row, sink);
  }
  return ok_status();
}

}  // namespace

std::unique_ptr<Importer> make_ort_importer() { return std::make_unique<OrtImporter>(); }

}  // namespace dfsim::inline datasets
