// TensorFlow 1's timeline.py: one process per device, cat "Op" with args name (the graph's node)
// and op (its type).
//
// Processes "/gpu:0/stream:7 Compute" are queues of a device; "/stream:all" and "/memcpy" say again
// what the single queues say, so they are left out. "/job:.../gpu:0 Compute" is the host's thread
// that launches: its operators are joined with the work of the same node.
#include "datasets/traces/chrome/chrome_dialect.h"
#include "datasets/traces/chrome/tensorflow_tracks.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

class TensorflowDialect : public ChromeDialect {
 public:
  std::string_view name() const override { return "tensorflow"; }

  bool claims(const ChromeEvent& event) const override {
    return event.category == "Op" && !event.arg("op").empty() && !event.arg("name").empty();
  }

  bool claims_field(std::string_view /*key*/) const override { return false; }

  bool describe(const ChromeEvent& event, Trace* trace, Span* span) const override {
    if (event.category == "Op") {
      span->kind = SpanKind::kOp;
      const std::string_view node = event.text_arg("name");
      span->detail = node.empty() ? NameId() : trace->intern(node);
    }
    return true;
  }

  bool read_other(const ChromeEvent& /*event*/, Trace* /*trace*/) const override { return false; }
  void read_field(std::string_view /*key*/, std::string_view /*json*/,
                  Trace* /*trace*/) const override {}

  // Names of processes may come after the events on them.
  void finish(Trace* trace) const override { finish_tensorflow_tracks(trace); }
};

std::unique_ptr<ChromeDialect> make_tensorflow_dialect() {
  return std::make_unique<TensorflowDialect>();
}

}  // namespace

TraceReader tensorflow_trace_reader() {
  return {.name = "tensorflow",
          .description = "TensorFlow 1 timeline.py",
          .dialect = make_tensorflow_dialect};
}

}  // namespace dfsim::inline datasets
