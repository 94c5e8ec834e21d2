// The replayed run as a trace: in memory for the analysis, and as a file for other tools.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "report/replay/replay.h"

namespace dfsim::inline report {
namespace {

using Json = nlohmann::ordered_json;

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Categories of PyTorch's profiler.
std::string_view category_of(SpanKind kind) {
  constexpr std::array<std::string_view, kSpanKindCount> kNames = {
      "other",  "user_annotation", "python_function", "cpu_op",   "cuda_runtime",
      "kernel", "gpu_memcpy",      "gpu_memset",      "cuda_sync"};
  return kNames[static_cast<size_t>(kind)];
}

// New times of spans: of those that have pieces, and around them.
struct NewTimes {
  std::vector<TimeNs> start_ns;
  std::vector<TimeNs> end_ns;

  void widen(size_t span, TimeNs from_ns, TimeNs to_ns) {
    start_ns[span] = std::min(start_ns[span], from_ns);
    end_ns[span] = std::max(end_ns[span], to_ns);
  }
};

}  // namespace

Trace replayed_trace(const Trace& trace, const ReplayGraph& graph, const ReplayRun& run) {
  NewTimes times;
  times.start_ns.assign(trace.spans.size(), INT64_MAX);
  times.end_ns.assign(trace.spans.size(), -1);
  for (size_t p = 0; p < graph.pieces.size(); ++p) {
    if (graph.pieces[p].span.valid()) {
      times.widen(graph.pieces[p].span.index(), run.start_ns[p], run.end_ns[p]);
    }
  }
  // Children come after their parents.
  for (size_t i = trace.spans.size(); i-- > 0;) {
    const SpanId parent = trace.spans[i].parent;
    if (parent.valid() && times.end_ns[i] >= 0) {
      times.widen(parent.index(), times.start_ns[i], times.end_ns[i]);
    }
  }
  Trace result;
  result.path = trace.path;
  result.format = trace.format;
  result.device_name = trace.device_name;
  result.rank = trace.rank;
  result.world_size = trace.world_size;
  result.links_work = trace.links_work;
  for (const Track& track : trace.tracks) {
    const TrackId id = result.track_of(track.process, fmt::format("{} ", result.tracks.size()));
    result.tracks[id.index()] = track;
  }
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    if (times.end_ns[i] < 0) {
      continue;  // nothing of it is simulated, as of annotations
    }
    Span span = trace.spans[i];
    span.start_us = static_cast<double>(times.start_ns[i]) / kNsPerUs;
    span.end_us = static_cast<double>(times.end_ns[i]) / kNsPerUs;
    span.name = result.intern(trace.text(span.name));
    span.detail = span.detail.valid() ? result.intern(trace.text(span.detail)) : NameId();
    span.operands = span.operands.valid() ? result.intern(trace.text(span.operands)) : NameId();
    span.parent = span.launch = span.op = SpanId();
    result.spans.push_back(span);
  }
  result.events = static_cast<int64_t>(result.spans.size());
  finish_trace(&result);
  return result;
}

std::string kineto_json(const Trace& trace) {
  std::string text = fmt::format("{{\"schemaVersion\":1,\"deviceProperties\":[{{\"name\":{}}}],",
                                 quoted(trace.device_name));
  text += "\"traceEvents\":[\n";
  for (size_t t = 0; t < trace.tracks.size(); ++t) {
    // Processes are told apart by their track's number: their names need not be numbers.
    text +=
        fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}},)"
                    "\n"
                    R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}},)"
                    "\n",
                    t, quoted(trace.tracks[t].process), t, t, quoted(trace.tracks[t].name));
  }
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    std::string args;
    const auto add = [&args](std::string_view key, int64_t value) {
      if (value >= 0) {
        args += fmt::format("{}\"{}\":{}", args.empty() ? "" : ",", key, value);
      }
    };
    add("External id", span.external);
    add("correlation", span.correlation);
    add("bytes", span.bytes);
    if (is_device_work(span.kind)) {
      add("device", std::max<int64_t>(0, trace.track(span.track).device));
    }
    text +=
        fmt::format(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
                    R"("args":{{{}}}}}{})"
                    "\n",
                    category_of(span.kind), quoted(trace.text(span.name)), span.track.index(),
                    span.track.index(), span.start_us, span.duration_us(), args,
                    i + 1 < trace.spans.size() ? "," : "");
  }
  text += "]}\n";
  return text;
}

}  // namespace dfsim::inline report
