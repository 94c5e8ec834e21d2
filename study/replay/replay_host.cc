// Host threads of a replayed run: their spans cut into pieces, and who hands over to whom.
#include <algorithm>
#include <cmath>

#include "datasets/traces/name_memo.h"
#include "study/replay/replay_graph.h"

namespace dfsim::inline study {
namespace {

// A thread that waited shorter than this did not wait for another, and one that was handed over to
// begins at most this long after.
constexpr TimeNs kLeastWaitNs = 50 * kNsPerUs;
constexpr TimeNs kMostHandoverNs = 500 * kNsPerUs;

// Cuts the spans of one thread, which come in order of start.
class ThreadCutter {
 public:
  ThreadCutter(const Trace& trace, uint32_t lane, ReplayGraph* graph, HostPlaces* places)
      : trace_(trace), lane_(lane), graph_(graph), places_(places) {
    Piece origin;  // so that something comes before a launch right at the start
    origin.lane = lane;
    origin.kind = PieceKind::kGap;
    graph_->order[lane].push_back(static_cast<uint32_t>(graph_->pieces.size()));
    graph_->pieces.push_back(origin);
  }

  void add(SpanId id) {
    const TimeNs start_ns = time_ns(trace_.span(id).start_us);
    leave_until(start_ns, time_ns(trace_.span(id).end_us));
    emit(start_ns, open_.empty() ? SpanId() : open_.back());
    places_->before[id.index()] = graph_->order[lane_].back();
    open_.push_back(id);
  }

  void finish() {
    while (!open_.empty()) {
      leave();
    }
  }

 private:
  TimeNs time_ns(double us) const { return std::llround((us - graph_->start_us) * kNsPerUs); }

  // Before a span that lasts from `now_ns` to `end_ns`. One that ends just after that only follows
  // the open one: their times were rounded.
  void leave_until(TimeNs now_ns, TimeNs end_ns) {
    while (!open_.empty()) {
      const TimeNs open_end_ns = time_ns(trace_.span(open_.back()).end_us);
      if (open_end_ns > now_ns && (open_end_ns > now_ns + kRoundingNs || open_end_ns >= end_ns)) {
        break;
      }
      leave();
    }
  }

  void leave() {
    const SpanId id = open_.back();
    emit(time_ns(trace_.span(id).end_us), id);
    open_.pop_back();
  }

  // A piece from where the last one ended; nothing when no time has passed.
  void emit(TimeNs end_ns, SpanId owner) {
    if (end_ns <= now_ns_) {
      return;
    }
    Piece piece;
    piece.span = owner;
    piece.lane = lane_;
    piece.kind = !owner.valid()                                  ? PieceKind::kGap
                 : trace_.span(owner).kind == SpanKind::kRuntime ? PieceKind::kCall
                                                                 : PieceKind::kOp;
    piece.start_ns = now_ns_;
    piece.end_ns = end_ns;
    piece.time_ns = end_ns - now_ns_;
    graph_->order[lane_].push_back(static_cast<uint32_t>(graph_->pieces.size()));
    graph_->pieces.push_back(piece);
    now_ns_ = end_ns;
  }

  const Trace& trace_;
  uint32_t lane_;
  ReplayGraph* graph_;
  HostPlaces* places_;
  std::vector<SpanId> open_;
  TimeNs now_ns_ = 0;
};

bool is_host_span(const Trace& trace, const Span& span) {
  return (span.kind == SpanKind::kOp || span.kind == SpanKind::kRuntime) &&
         trace.track(span.track).kind == TrackKind::kHost;
}

// Tracers of user space need not record calls that wait: then any work of the device may be what a
// thread waited for.
bool records_waits(const Trace& trace) {
  NameMemo<bool> waits;
  return trace.format != "ctf" || std::ranges::any_of(trace.spans, [&](const Span& span) {
           return span.kind == SpanKind::kRuntime &&
                  waits.of(trace, span.name, [](const std::string& name) {
                    return name.find("ynchronize") != std::string::npos;
                  });
         });
}

// Pieces after which their thread has nothing to do for a while, by their end. Where nothing is
// launched (a framework's own timeline) any operator may be what another thread waited for.
std::vector<std::pair<TimeNs, uint32_t>> handovers(const ReplayGraph& graph) {
  const bool launches =
      std::any_of(graph.pieces.begin(), graph.pieces.end(),
                  [](const Piece& piece) { return piece.kind == PieceKind::kCall; });
  std::vector<std::pair<TimeNs, uint32_t>> found;
  for (size_t lane = 0; lane < graph.lanes.size(); ++lane) {
    const std::vector<uint32_t>& order = graph.order[lane];
    for (size_t i = 0; !graph.lanes[lane].device && i < order.size(); ++i) {
      const Piece& piece = graph.pieces[order[i]];
      const bool idle =
          i + 1 == order.size() || (graph.pieces[order[i + 1]].kind == PieceKind::kGap &&
                                    graph.pieces[order[i + 1]].time_ns >= kLeastWaitNs);
      if (piece.kind != PieceKind::kGap && (idle || !launches)) {
        found.emplace_back(piece.end_ns, order[i]);
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

void end_before(TimeNs end_ns, Piece* piece) {
  const TimeNs excess_ns = piece->end_ns - end_ns;
  if (excess_ns > 0 && excess_ns <= kRoundingNs && piece->time_ns >= excess_ns) {
    piece->end_ns -= excess_ns;
    piece->time_ns -= excess_ns;
  }
}

void add_host_pieces(const Trace& trace, ReplayGraph* graph, HostPlaces* places) {
  places->before.assign(trace.spans.size(), UINT32_MAX);
  std::vector<std::vector<SpanId>> threads(trace.tracks.size());
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    if (is_host_span(trace, trace.spans[i])) {
      threads[trace.spans[i].track.index()].push_back(SpanId(i));
    }
  }
  for (size_t t = 0; t < threads.size(); ++t) {
    if (threads[t].empty()) {
      continue;
    }
    const auto lane = static_cast<uint32_t>(graph->lanes.size());
    graph->lanes.push_back({TrackId(t), false});
    graph->order.emplace_back();
    ThreadCutter cutter(trace, lane, graph, places);
    for (const SpanId id : threads[t]) {
      cutter.add(id);
    }
    cutter.finish();
  }
}

void join_threads(const Trace& /*trace*/, ReplayGraph* graph) {
  const auto candidates = handovers(*graph);
  for (uint32_t g = 0; g < graph->pieces.size(); ++g) {
    Piece& gap = graph->pieces[g];
    // Shorter than measured: it waited for a transfer or a session.
    if (gap.kind != PieceKind::kGap || gap.time_ns < kLeastWaitNs ||
        gap.time_ns < gap.end_ns - gap.start_ns) {
      continue;
    }
    auto it = std::upper_bound(candidates.begin(), candidates.end(),
                               std::pair(gap.end_ns + kRoundingNs, UINT32_MAX));
    while (it != candidates.begin()) {
      --it;
      const auto [end_ns, from] = *it;
      if (end_ns <= gap.start_ns || gap.end_ns - end_ns > kMostHandoverNs) {
        break;
      }
      if (graph->pieces[from].lane != gap.lane) {
        end_before(gap.end_ns, &graph->pieces[from]);
        gap.time_ns = std::max<TimeNs>(0, gap.end_ns - end_ns);
        graph->edges.push_back({from, g, 0, PieceEdgeKind::kHandover});
        break;
      }
    }
  }
}

// A thread with nothing to do that goes on right after a copy whose call is not recorded has waited
// for that copy.
void join_copies(const Trace& trace, ReplayGraph* graph) {
  std::vector<std::pair<TimeNs, uint32_t>> copies;
  const bool any_work = !records_waits(trace);
  for (uint32_t p = 0; p < graph->pieces.size(); ++p) {
    const Piece& piece = graph->pieces[p];
    const bool copy = piece.kind == PieceKind::kCopy && !trace.span(piece.span).launch.valid();
    if (copy || (any_work && is_device_piece(piece.kind) && piece.span.valid())) {
      copies.emplace_back(piece.end_ns, p);
    }
  }
  std::sort(copies.begin(), copies.end());
  for (uint32_t g = 0; g < graph->pieces.size(); ++g) {
    Piece& gap = graph->pieces[g];
    // Shorter than measured: another thread handed over.
    if (gap.kind != PieceKind::kGap || gap.time_ns < kLeastWaitNs ||
        gap.time_ns < gap.end_ns - gap.start_ns) {
      continue;
    }
    const auto after =
        std::upper_bound(copies.begin(), copies.end(), std::pair(gap.end_ns, UINT32_MAX));
    if (after == copies.begin()) {
      continue;
    }
    const auto [end_ns, copy] = *std::prev(after);
    if (end_ns > gap.start_ns && gap.end_ns - end_ns <= kMostHandoverNs) {
      gap.time_ns = gap.end_ns - end_ns;
      graph->edges.push_back({copy, g, 0, PieceEdgeKind::kSync});
    }
  }
}

}  // namespace dfsim::inline study
