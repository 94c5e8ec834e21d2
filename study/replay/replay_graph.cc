// Makes the graph of a trace: cuts host spans at the calls inside them, orders pieces of each
// lane, and adds the spread of repeated pieces, found by what they have in common: name, shapes,
// and their place in the operator.
#include "study/replay/replay_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/check.h"

namespace dfsim::inline study {
namespace {

// Longer runs do not fit a clock of nanoseconds with room for changes.
constexpr double kMaxSpanUs = 1e14;

bool is_replayed(const Span& span) {
  return span.kind == SpanKind::kOp || span.kind == SpanKind::kRuntime || is_device_work(span.kind);
}

// The value at that share of sorted values, by nearest rank.
TimeNs quantile(const std::vector<TimeNs>& sorted, double share) {
  const auto rank = static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5);
  return sorted[rank];
}

}  // namespace

std::string_view piece_kind_name(PieceKind kind) {
  constexpr std::array<std::string_view, kPieceKindCount> kNames = {
      "op", "call", "gap", "transfer", "kernel", "communication", "copy", "memset", "queue-gap"};
  return kNames[static_cast<size_t>(kind)];
}

void add_spreads(const Trace& trace, ReplayGraph* graph) {
  // The how-many-th piece of its span: the parts of an operator around what it calls differ.
  using Key = std::tuple<PieceKind, NameId, NameId, uint32_t>;
  std::map<Key, std::vector<TimeNs>> groups;
  std::vector<uint32_t> seen(trace.spans.size(), 0);
  std::vector<Key> keys(graph->pieces.size());
  for (size_t p = 0; p < graph->pieces.size(); ++p) {
    Piece& piece = graph->pieces[p];
    piece.low_ns = piece.high_ns = piece.time_ns;
    if (!piece.span.valid()) {
      continue;
    }
    const Span& span = trace.span(piece.span);
    const NameId detail =
        span.detail.valid() || !span.op.valid() ? span.detail : trace.span(span.op).detail;
    keys[p] = {piece.kind, span.name, detail, seen[piece.span.index()]++};
    groups[keys[p]].push_back(piece.time_ns);
  }
  for (auto& [key, times] : groups) {
    std::sort(times.begin(), times.end());
  }
  for (size_t p = 0; p < graph->pieces.size(); ++p) {
    Piece& piece = graph->pieces[p];
    if (!piece.span.valid()) {
      continue;
    }
    const std::vector<TimeNs>& times = groups[keys[p]];
    // As wide below as above: many pieces of skewed times would else add up to more than measured.
    const TimeNs side = std::min(piece.time_ns, (quantile(times, 0.9) - quantile(times, 0.1)) / 2);
    piece.low_ns = piece.time_ns - side;
    piece.high_ns = piece.time_ns + side;
  }
}

StatusOr<ReplayGraph> make_replay_graph(const Trace& trace, bool spreads) {
  ReplayGraph graph;
  double end_us = 0;
  bool any = false;
  size_t replayed = 0;
  for (const Span& span : trace.spans) {
    if (is_replayed(span)) {
      ++replayed;
      graph.start_us = any ? std::min(graph.start_us, span.start_us) : span.start_us;
      end_us = any ? std::max(end_us, span.end_us) : span.end_us;
      any = true;
    }
  }
  if (!any) {
    return invalid_input(fmt::format(
        "{}: neither operators nor device work, so there is nothing to replay", trace.path));
  }
  if (end_us - graph.start_us > kMaxSpanUs) {
    return invalid_input(fmt::format(
        "{}: found spans {:.3g} s apart, expected one run; are there two clocks in the file?",
        trace.path, (end_us - graph.start_us) / 1e6));
  }
  // A span has at most a piece and a gap of its own. Room that stays empty costs no memory, growing
  // would copy all pieces of a large trace.
  graph.pieces.reserve(2 * replayed + 2 * trace.tracks.size());
  add_device_pieces(trace, &graph);
  HostPlaces places;
  add_host_pieces(trace, &graph, &places);
  join_transfers(trace, &graph);
  join_threads(trace, &graph);
  join_launches(trace, places, &graph);
  join_copies(trace, &graph);
  join_syncs(trace, &graph);
  if (spreads) {
    add_spreads(trace, &graph);
  } else {
    for (Piece& piece : graph.pieces) {
      piece.low_ns = piece.high_ns = piece.time_ns;
    }
  }
  for (const Piece& piece : graph.pieces) {
    graph.span_ns = std::max(graph.span_ns, piece.end_ns);
  }
  return graph;
}

}  // namespace dfsim::inline study
