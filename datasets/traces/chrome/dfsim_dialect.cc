// Our own traces (report/chrome_trace.h): devices are processes, queues and copy engines threads;
// "links" and "host" are processes of their own.
#include <fmt/format.h>

#include "datasets/tables/numbers.h"
#include "datasets/traces/chrome/chrome_dialect.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

class DfsimDialect : public ChromeDialect {
 public:
  std::string_view name() const override { return "dfsim"; }

  bool claims(const ChromeEvent& event) const override {
    return (!event.arg("bound").empty() && !event.arg("source").empty()) ||
           (event.category == "copy" && !event.arg("waited_us").empty()) ||
           (event.category == "dispatch" && !event.arg("device").empty()) ||
           event.category == "task";
  }

  bool claims_field(std::string_view /*key*/) const override { return false; }

  bool describe(const ChromeEvent& event, Trace* trace, Span* span) const override {
    Track& track = trace->tracks[span->track.index()];
    if (event.category == "dispatch") {
      span->kind = SpanKind::kRuntime;
      return true;
    }
    track.kind = TrackKind::kDevice;
    if (event.category == "transfer") {
      return true;  // on a link: the copy itself is shown at its ends
    }
    if (event.category == "copy") {
      span->kind = SpanKind::kCopy;
      span->detail = trace->intern(event.text_arg("to"));
      const std::string_view kind = event.text_arg("kind");
      span->external = kind == "device to host" ? kToHost : kToDevice;
      span->name = trace->intern(fmt::format("copy, {}", kind));
      span->bytes = event.int_arg("bytes");
      return true;
    }
    span->kind = SpanKind::kKernel;
    const std::string_view type = event.text_arg("op_type");
    if (!type.empty()) {
      span->detail = span->name;
      span->name = trace->intern(type);
    }
    return true;
  }

  bool read_other(const ChromeEvent& event, Trace* trace) const override {
    if (event.phase != "C" || event.name != "memory" || !event.has_start()) {
      return false;
    }
    MemoryRecord record;
    record.time_us = event.start_us;
    record.device = event.process.empty() ? -1 : parse_number<int64_t>(event.process).value_or(-1);
    record.allocated = event.int_arg("bytes");
    record.track = trace->track_of(event.process, event.thread);
    trace->memory.push_back(record);
    return true;
  }

  void read_field(std::string_view /*key*/, std::string_view /*json*/,
                  Trace* /*trace*/) const override {}

  // A copy is shown at both of its ends: it counts at the one it goes to, or at the device when
  // that is the host.
  void finish(Trace* trace) const override {
    for (Span& span : trace->spans) {
      if (span.kind != SpanKind::kCopy) {
        continue;
      }
      const std::string& process = trace->track(span.track).process;
      if (span.external != kToHost && !process.starts_with(trace->text(span.detail) + " (")) {
        span.kind = SpanKind::kOther;
      }
      span.external = -1;
    }
  }

 private:
  static constexpr int64_t kToDevice = 0;
  static constexpr int64_t kToHost = 1;
};

}  // namespace

std::unique_ptr<ChromeDialect> make_dfsim_dialect() { return std::make_unique<DfsimDialect>(); }

TraceReader dfsim_trace_reader() {
  return {.name = "dfsim",
          .description = "dfsim predict --trace x.json",
          .dialect = make_dfsim_dialect};
}

}  // namespace dfsim::inline datasets
