// ONNX Runtime's profile: cat "Node" for nodes, named <node>_kernel_time (older versions also have
// _fence_before and _fence_after), "Session" for runs, "Kernel" for work of a device.
#include "base/text.h"
#include "datasets/traces/chrome/chrome_dialect.h"
#include "datasets/traces/span_ops.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

constexpr std::string_view kKernelTime = "_kernel_time";

class OrtDialect : public ChromeDialect {
 public:
  std::string_view name() const override { return "onnxruntime"; }

  bool claims(const ChromeEvent& event) const override {
    return (event.category == "Node" && !event.arg("op_name").empty()) ||
           (event.category == "Session" &&
            (event.name.starts_with("model_") || event.name == "session_initialization"));
  }

  bool claims_field(std::string_view /*key*/) const override { return false; }

  bool describe(const ChromeEvent& event, Trace* trace, Span* span) const override {
    if (event.category == "Session") {
      span->kind = SpanKind::kAnnotation;
    } else if (event.category == "Kernel") {
      span->kind = SpanKind::kKernel;
      // Device work comes without a queue; a track of its own keeps it off the host's.
      span->track = trace->track_of("device", event.text_arg("stream"));
      trace->tracks[span->track.index()].kind = TrackKind::kDevice;
    } else if (event.category == "Node" && event.name.ends_with(kKernelTime)) {
      span->kind = SpanKind::kOp;
      span->name = trace->intern(event.text_arg("op_name"));
      const std::string node(event.name.substr(0, event.name.size() - kKernelTime.size()));
      span->detail = trace->intern(node);
      const std::string_view inputs = event.arg("input_type_shape");
      const std::string_view outputs = event.arg("output_type_shape");
      if (!inputs.empty() || !outputs.empty()) {
        span->operands = trace->intern(join_operands({inputs, outputs}));
      }
    }
    return true;
  }

  bool read_other(const ChromeEvent& /*event*/, Trace* /*trace*/) const override { return false; }
  void read_field(std::string_view /*key*/, std::string_view /*json*/,
                  Trace* /*trace*/) const override {}
  void finish(Trace* /*trace*/) const override {}
};

std::unique_ptr<ChromeDialect> make_ort_dialect() { return std::make_unique<OrtDialect>(); }

}  // namespace

TraceReader onnxruntime_trace_reader() {
  return {.name = "onnxruntime",
          .description = "ONNX Runtime profile (enable_profiling)",
          .dialect = make_ort_dialect};
}

}  // namespace dfsim::inline datasets
