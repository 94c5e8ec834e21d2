// TensorFlow 1's timeline.py: one process per device, cat "Op" with args name (the graph's node)
// and op (its type).
//
// Processes "/gpu:0/stream:7 Compute" are queues of a device; "/stream:all" and "/memcpy" say again
// what the single queues say, so they are left out. "/job:.../gpu:0 Compute" is the host's thread
// that launches: its operators are joined with the work of the same node.
#include "base/text.h"
#include "datasets/traces/chrome_event.h"

namespace dfsim {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

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
  void finish(Trace* trace) const override {
    bool single_streams = false;
    for (Track& track : trace->tracks) {
      if (has(track.process, "/stream:") || has(track.process, "/memcpy")) {
        track.kind = TrackKind::kDevice;
        track.device = 0;
        single_streams |= !is_summary(track);
      }
    }
    std::vector<Span> kept;
    kept.reserve(trace->spans.size());
    for (Span& span : trace->spans) {
      const Track& track = trace->track(span.track);
      if (single_streams && is_summary(track)) {
        continue;
      }
      if (span.kind == SpanKind::kOp && span.detail.valid()) {
        span.external = int64_t{span.detail.value()} + 1;  // work and operator share the node
      }
      if (span.kind == SpanKind::kOp && track.kind == TrackKind::kDevice) {
        const bool copy = to_lower(trace->text(span.name)).starts_with("memcpy");
        span.kind = copy ? SpanKind::kCopy : SpanKind::kKernel;
      }
      kept.push_back(span);
    }
    trace->spans = std::move(kept);
  }

 private:
  // Queues that say again what the single ones say.
  static bool is_summary(const Track& track) {
    return track.kind == TrackKind::kDevice &&
           (has(track.process, "/stream:all") || has(track.process, "/memcpy"));
  }
};

}  // namespace

std::unique_ptr<ChromeDialect> make_tensorflow_dialect() {
  return std::make_unique<TensorflowDialect>();
}

}  // namespace dfsim
