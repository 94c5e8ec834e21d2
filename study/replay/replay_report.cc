#include "study/replay/replay_report.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dfsim::inline study {

void add_replay_rows(const Trace& trace, const ReplayGraph& recorded, const ReplayGraph& replayed,
                     const std::vector<PieceSource>& sources, ReplayReport* report) {
  const bool on_device = std::any_of(recorded.pieces.begin(), recorded.pieces.end(),
                                     [](const Piece& p) { return is_device_piece(p.kind); });
  std::map<PieceSource, ReplaySourceRow> by_source;
  std::map<std::string, ReplayOpRow> by_op;
  std::map<std::pair<std::string, PieceSource>, TimeNs> time_of_source;
  for (size_t p = 0; p < recorded.pieces.size(); ++p) {
    const Piece& piece = recorded.pieces[p];
    if (!piece.span.valid() ||
        (on_device ? !is_device_piece(piece.kind) : piece.kind != PieceKind::kOp)) {
      continue;
    }
    const Span& span = trace.span(piece.span);
    const SpanId op = on_device && span.op.valid() ? span.op : piece.span;
    const std::string& name = trace.text(trace.span(op).name);
    ReplaySourceRow& source = by_source[sources[p]];
    ReplayOpRow& row = by_op[name];
    source.source = sources[p];
    row.name = name;
    for (auto* sums : {&source.measured_ns, &row.measured_ns}) {
      *sums += piece.time_ns;
    }
    for (auto* sums : {&source.replayed_ns, &row.replayed_ns}) {
      *sums += replayed.pieces[p].time_ns;
    }
    ++source.pieces;
    ++row.pieces;
    TimeNs& spent = time_of_source[{name, sources[p]}];
    spent += piece.time_ns;
    const auto best = time_of_source.find({name, row.source});
    if (best == time_of_source.end() || spent > best->second) {
      row.source = sources[p];
    }
  }
  for (const auto& [key, row] : by_source) {
    report->sources.push_back(row);
  }
  for (const auto& [key, row] : by_op) {
    report->ops.push_back(row);
  }
  std::stable_sort(
      report->ops.begin(), report->ops.end(),
      [](const ReplayOpRow& a, const ReplayOpRow& b) { return a.measured_ns > b.measured_ns; });
}

}  // namespace dfsim::inline study
