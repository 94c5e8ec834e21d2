// The replayed run as a trace, for the analysis and for writers of traces.
#include <fmt/format.h>

#include <algorithm>

#include "study/replay/replay.h"

namespace dfsim::inline study {
namespace {

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

}  // namespace dfsim::inline study
