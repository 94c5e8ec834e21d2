// rocprofv3 --output-format json: {"rocprofiler-sdk-tool": [{metadata, agents, kernel_symbols,
// buffer_records: {kernel_dispatch, memory_copy, hip_api, ...}}]}, times in ns.
//
// Kernels lie on queues of agents; HIP calls on host threads; both carry correlation_id.internal.
#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "base/json/json_value.h"
#include "base/text.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

constexpr double kRocprofNsPerUs = 1000;

int64_t integer(const JsonValue& object, std::string_view pointer) {
  int64_t value = -1;
  object.at(pointer).get(&value);
  return value;
}

std::string text(const JsonValue& object, std::string_view pointer) {
  std::string_view value;
  object.at(pointer).get(&value);
  return std::string(value);
}

class RocprofReader {
 public:
  explicit RocprofReader(const std::string& path) {
    trace_.path = path;
    trace_.format = "rocprofv3";
  }

  StatusOr<Trace> read(const JsonValue& process) {
    read_agents(process);
    read_symbols(process);
    read_records(process, "/buffer_records/kernel_dispatch", SpanKind::kKernel);
    read_records(process, "/buffer_records/memory_copy", SpanKind::kCopy);
    read_records(process, "/buffer_records/hip_api", SpanKind::kRuntime);
    if (trace_.spans.empty()) {
      return invalid_input(fmt::format(
          "{}: a rocprofv3 result without kernels, copies or HIP calls; record with --kernel-trace",
          trace_.path));
    }
    finish_trace(&trace_);
    return std::move(trace_);
  }

 private:
  void read_agents(const JsonValue& process) {
    process.at("/agents").each_element([this](const JsonValue& agent) {
      const int64_t handle = integer(agent, "/id/handle");
      const std::string product = text(agent, "/product_name");
      const std::string name = product.empty() ? text(agent, "/name") : product;
      agents_[handle] = {name, integer(agent, "/logical_node_id")};
      if (integer(agent, "/simd_count") > 0 && trace_.device_name.empty()) {
        trace_.device_name = name;
      }
    });
  }

  void read_symbols(const JsonValue& process) {
    process.at("/kernel_symbols").each_element([this](const JsonValue& symbol) {
      std::string name = text(symbol, "/formatted_kernel_name");
      name = name.empty() ? text(symbol, "/kernel_name") : name;
      kernels_[integer(symbol, "/kernel_id")] = trace_.intern(name);
    });
    process.at("/strings/buffer_records").each_element([this](const JsonValue& kind) {
      operations_.push_back(kind);
    });
  }

  // The name of an operation of a kind, from the table of strings.
  std::string operation(const JsonValue& record) const {
    const int64_t kind = integer(record, "/kind");
    const int64_t index = integer(record, "/operation");
    if (kind < 0 || kind >= static_cast<int64_t>(operations_.size()) || index < 0) {
      return "";
    }
    return text(operations_[static_cast<size_t>(kind)], fmt::format("/operations/{}", index));
  }

  void read_records(const JsonValue& process, std::string_view pointer, SpanKind kind) {
    process.at(pointer).each_element([this, kind](const JsonValue& record) {
      ++trace_.events;
      const int64_t start_ns = integer(record, "/start_timestamp");
      const int64_t end_ns = integer(record, "/end_timestamp");
      if (start_ns <= 0 || end_ns < start_ns) {
        trace_.warn("records without a time or with a negative duration, left out", trace_.events);
        return;
      }
      Span span;
      span.kind = kind;
      span.start_us = static_cast<double>(start_ns) / kRocprofNsPerUs;
      span.end_us = static_cast<double>(end_ns) / kRocprofNsPerUs;
      span.correlation = integer(record, "/correlation_id/internal");
      place(record, kind, &span);
      trace_.spans.push_back(span);
    });
  }

  void place(const JsonValue& record, SpanKind kind, Span* span) {
    if (kind == SpanKind::kRuntime) {
      span->name = trace_.intern(operation(record));
      span->track = trace_.track_of("host", fmt::format("{}", integer(record, "/thread_id")));
      return;
    }
    int64_t agent = integer(record, "/dispatch_info/agent_id/handle");
    std::string queue = fmt::format("queue {}", integer(record, "/dispatch_info/queue_id/handle"));
    if (kind == SpanKind::kKernel) {
      const auto kernel = kernels_.find(integer(record, "/dispatch_info/kernel_id"));
      span->name = kernel == kernels_.end() ? trace_.intern("?") : kernel->second;
    } else {
      span->name = trace_.intern(operation(record));
      span->bytes = integer(record, "/bytes");
      agent = integer(record, "/dst_agent_id/handle");
      queue = "copies";
    }
    const auto device = agents_.find(agent);
    const std::string name =
        device == agents_.end() ? fmt::format("agent {}", agent) : device->second.first;
    span->track = trace_.track_of(fmt::format("{} ({})", name, agent), queue);
    Track& track = trace_.tracks[span->track.index()];
    track.kind = TrackKind::kDevice;
    track.device = device == agents_.end() ? agent : device->second.second;
  }

  Trace trace_;
  std::unordered_map<int64_t, std::pair<std::string, int64_t>> agents_;  // name and number
  std::unordered_map<int64_t, NameId> kernels_;
  std::vector<JsonValue> operations_;
};

// The file is one value for each process, which is read as a whole.
StatusOr<Trace> read_rocprof(TraceInput input) {
  DFSIM_RETURN_IF_ERROR(input.load());
  const PaddedJson json(input.take_content());
  JsonParser parser;
  JsonValue top;
  if (!parser.parse(json.view(), &top)) {
    return invalid_input(
        fmt::format("{}: {}; the file is cut off or not JSON", input.path(), parser.error()));
  }
  const JsonValue process = top.at("/rocprofiler-sdk-tool/0");
  if (process.is(JsonKind::kMissing)) {
    return invalid_input(
        fmt::format("{}: a rocprofv3 result of no process, expected one", input.path()));
  }
  return RocprofReader(input.path()).read(process);
}

Sniff sniff_rocprof(const TraceInput& input) {
  const bool found =
      input.kind() == TraceInput::Kind::kJson && input.head_has("\"rocprofiler-sdk-tool\"");
  return found ? Sniff::kYes : Sniff::kNo;
}

}  // namespace

TraceReader rocprofv3_trace_reader() {
  return {.name = "rocprofv3",
          .description = "rocprofv3 --output-format json",
          .sniff = sniff_rocprof,
          .read = read_rocprof};
}

}  // namespace dfsim::inline datasets
