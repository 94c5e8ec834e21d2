#include <algorithm>

#include "datasets/profiles/statistics.h"
#include "study/analysis/trace_analysis.h"

namespace dfsim::inline study {
namespace {

// A late rank computes longer while the others wait for it inside their communication.
double own_us(const Breakdown& b) { return b.computation_us + b.exposed_copy_us; }

// The ranks do the same collectives in the same order; each ends everywhere at once, so who comes
// last is in it for the shortest time, and the others wait for what they are in it longer.
void compare_collectives(const std::vector<TraceAnalysis>& traces, std::vector<RankRow>* rows) {
  const size_t count = traces.front().collectives_us.size();
  for (const TraceAnalysis& trace : traces) {
    if (trace.collectives_us.size() != count) {
      return;  // of different runs, or cut off
    }
  }
  for (size_t c = 0; c < count; ++c) {
    size_t last = 0;
    for (size_t r = 1; r < traces.size(); ++r) {
      last = traces[r].collectives_us[c] < traces[last].collectives_us[c] ? r : last;
    }
    ++(*rows)[last].came_last;
    for (size_t r = 0; r < traces.size(); ++r) {
      ++(*rows)[r].collectives;
      (*rows)[r].waited_us += traces[r].collectives_us[c] - traces[last].collectives_us[c];
    }
  }
}

}  // namespace

std::vector<RankRow> compare_ranks(const std::vector<TraceAnalysis>& traces) {
  std::vector<RankRow> rows;
  if (traces.size() < 2) {
    return rows;
  }
  std::vector<double> busy;
  for (const TraceAnalysis& trace : traces) {
    busy.push_back(own_us(trace.breakdown));
  }
  const double middle = median(busy);
  for (const TraceAnalysis& trace : traces) {
    RankRow row;
    row.path = trace.path;
    row.rank = trace.rank;
    row.breakdown = trace.breakdown;
    row.over_median = middle > 0 ? own_us(trace.breakdown) / middle - 1 : 0;
    rows.push_back(std::move(row));
  }
  compare_collectives(traces, &rows);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RankRow& a, const RankRow& b) { return a.rank < b.rank; });
  return rows;
}

}  // namespace dfsim::inline study
