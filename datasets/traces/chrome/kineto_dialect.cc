// PyTorch's profiler (Kineto), old and new spellings.
//
// cat cpu_op (older Operator): operators; cuda_runtime, cuda_driver and those of other vendors:
// calls; kernel, gpu_memcpy, gpu_memset (older Kernel, Memcpy, Memset): device work on process =
// device, thread = stream; cuda_sync: waits, with args wait_on_stream and
// wait_on_cuda_event_record_corr_id; instants "[memory]": allocator events. Kernels with ts 0 were
// lost by the device's profiler.
#include <fmt/format.h>

#include <array>

#include "datasets/events/json_text.h"
#include "datasets/tables/numbers.h"
#include "datasets/traces/chrome/chrome_dialect.h"
#include "datasets/traces/span_ops.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

SpanKind kind_of(std::string_view category) {
  struct Entry {
    std::string_view category;
    SpanKind kind;
  };
  constexpr std::array kKinds = {
      Entry{"cpu_op", SpanKind::kOp},
      Entry{"Operator", SpanKind::kOp},
      Entry{"kernel", SpanKind::kKernel},
      Entry{"Kernel", SpanKind::kKernel},
      Entry{"mtia_ccp_events", SpanKind::kKernel},
      Entry{"gpu_memcpy", SpanKind::kCopy},
      Entry{"Memcpy", SpanKind::kCopy},
      Entry{"gpu_memset", SpanKind::kMemset},
      Entry{"Memset", SpanKind::kMemset},
      Entry{"cuda_runtime", SpanKind::kRuntime},
      Entry{"cuda_driver", SpanKind::kRuntime},
      Entry{"Runtime", SpanKind::kRuntime},
      Entry{"hip_runtime", SpanKind::kRuntime},
      Entry{"xpu_runtime", SpanKind::kRuntime},
      Entry{"mtia_runtime", SpanKind::kRuntime},
      Entry{"privateuse1_runtime", SpanKind::kRuntime},
      Entry{"cuda_sync", SpanKind::kSync},
      Entry{"python_function", SpanKind::kPython},
      Entry{"user_annotation", SpanKind::kAnnotation},
      Entry{"gpu_user_annotation", SpanKind::kAnnotation},
  };
  for (const Entry& entry : kKinds) {
    if (entry.category == category) {
      return entry.kind;
    }
  }
  return SpanKind::kOther;
}

// The text between the quotes after "key", of a field that is read for one name only.
std::string_view quoted_after(std::string_view json, std::string_view key) {
  const size_t at = json.find(fmt::format("\"{}\"", key));
  const size_t open = at == std::string_view::npos ? at : json.find('"', at + key.size() + 2);
  const size_t close = open == std::string_view::npos ? open : json.find('"', open + 1);
  return close == std::string_view::npos ? "" : json.substr(open + 1, close - open - 1);
}

int64_t number_after(std::string_view json, std::string_view key) {
  const size_t at = json.find(fmt::format("\"{}\"", key));
  const size_t colon = at == std::string_view::npos ? at : json.find(':', at);
  if (colon == std::string_view::npos) {
    return -1;
  }
  const size_t end = json.find_first_of(",}", colon);
  return parse_number<int64_t>(json.substr(colon + 1, end - colon - 1)).value_or(-1);
}

// JSON on one line. Where another program has written a file again with line breaks and indents, it
// becomes as Kineto writes it: one blank after each comma, none elsewhere. Strings stay as they
// are. O(text).
std::string on_one_line(std::string_view json) {
  if (json.find('\n') == std::string_view::npos) {
    return std::string(json);
  }
  std::string text;
  text.reserve(json.size());
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\' && i + 1 < json.size()) {
      text += c;
      text += json[++i];
      continue;
    }
    in_string = in_string != (c == '"');
    if (in_string || (c != ' ' && c != '\t' && c != '\n' && c != '\r')) {
      text += c;
      text += c == ',' && !in_string ? " " : "";
    }
  }
  return text;
}

class KinetoDialect : public ChromeDialect {
 public:
  std::string_view name() const override { return "kineto"; }

  bool claims(const ChromeEvent& event) const override {
    return kind_of(event.category) != SpanKind::kOther;
  }

  bool claims_field(std::string_view key) const override {
    return key == "schemaVersion" || key == "deviceProperties" || key == "distributedInfo";
  }

  bool describe(const ChromeEvent& event, Trace* trace, Span* span) const override {
    span->kind = kind_of(event.category);
    if (span->start_us == 0 && is_device_work(span->kind)) {
      trace->warn("device work without a start (ts 0), left out", event.index);
      return false;
    }
    if (span->kind == SpanKind::kPython || span->kind == SpanKind::kOther) {
      return true;  // nothing in their args is asked for
    }
    span->external = event.int_arg("External id", -2);
    span->external = span->external == -2 ? event.int_arg("external id") : span->external;
    span->correlation = event.int_arg("correlation");
    span->bytes = event.int_arg("bytes");
    if (span->kind == SpanKind::kOp) {
      describe_operands(event, trace, span);
    }
    if (is_device_work(span->kind) || span->kind == SpanKind::kSync ||
        event.category == "gpu_user_annotation") {
      Track& track = trace->tracks[span->track.index()];
      track.kind = TrackKind::kDevice;
      track.device = event.int_arg("device", track.device);
    }
    if (span->kind == SpanKind::kSync && event.phase == "X") {
      trace->syncs.push_back({SpanId(trace->spans.size()), event.int_arg("wait_on_stream"),
                              event.int_arg("wait_on_cuda_event_record_corr_id")});
    }
    return true;
  }

  bool read_other(const ChromeEvent& event, Trace* trace) const override {
    if (event.name != "[memory]" || !event.has_start()) {
      return false;
    }
    MemoryRecord record;
    record.time_us = event.start_us;
    // Device type 0 is the CPU; its allocator reports no totals.
    record.device = event.int_arg("Device Type", 0) == 0 ? -1 : event.int_arg("Device Id", 0);
    record.address = parse_number<uint64_t>(event.text_arg("Addr")).value_or(0);
    record.bytes = event.int_arg("Bytes", 0);
    record.allocated = event.int_arg("Total Allocated");
    record.reserved = event.int_arg("Total Reserved");
    record.track = trace->track_of(event.process, event.thread);
    trace->memory.push_back(record);
    return true;
  }

  void read_field(std::string_view key, std::string_view json, Trace* trace) const override {
    if (key == "deviceProperties" && trace->device_name.empty()) {
      trace->device_name = quoted_after(json, "name");
    } else if (key == "distributedInfo") {
      trace->rank = number_after(json, "rank");
      trace->world_size = number_after(json, "world_size");
    }
  }

  void finish(Trace* trace) const override { trace->links_work = true; }

 private:
  static void describe_operands(const ChromeEvent& event, Trace* trace, Span* span) {
    std::string_view dims = event.arg("Input Dims");
    dims = dims.empty() ? event.arg("Input dims") : dims;
    if (dims.empty()) {
      return;
    }
    const std::string shapes = on_one_line(dims);
    if (shapes == "[]") {
      return;
    }
    const std::string types = on_one_line(event.arg("Input type"));
    span->detail = trace->intern(shapes + " " + types);
    const std::string strides = on_one_line(event.arg("Input Strides"));
    const std::string values = on_one_line(event.arg("Concrete Inputs"));
    span->operands = trace->intern(join_operands({shapes, types, strides, values}));
  }
};

std::unique_ptr<ChromeDialect> make_kineto_dialect() { return std::make_unique<KinetoDialect>(); }

}  // namespace

TraceReader kineto_trace_reader() {
  return {.name = "kineto",
          .description = "PyTorch profiler (Kineto), CUDA, ROCm, MTIA and CPU",
          .dialect = make_kineto_dialect};
}

}  // namespace dfsim::inline datasets
