#include "study/analysis/trace_diff.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace dfsim::inline study {

TraceDiff diff_traces(const TraceAnalysis& a, const TraceAnalysis& b, bool by_node) {
  TraceDiff diff;
  diff.path_a = a.path;
  diff.path_b = b.path;
  diff.a = a.breakdown;
  diff.b = b.breakdown;
  std::map<std::pair<std::string, std::string>, DiffRow> rows;
  for (const OpRow& op : by_node ? a.nodes : a.ops) {
    DiffRow& row = rows[{op.name, op.detail}];
    row.calls_a += op.calls;
    row.a_us += op.time.total_us;
    diff.ops_a_us += op.time.total_us;
  }
  for (const OpRow& op : by_node ? b.nodes : b.ops) {
    DiffRow& row = rows[{op.name, op.detail}];
    row.calls_b += op.calls;
    row.b_us += op.time.total_us;
    diff.ops_b_us += op.time.total_us;
  }
  for (auto& [key, row] : rows) {
    row.name = key.first;
    row.detail = key.second;
    row.change = diff.ops_a_us > 0 ? (row.b_us - row.a_us) / diff.ops_a_us : 0;
    diff.rows.push_back(row);
  }
  std::stable_sort(diff.rows.begin(), diff.rows.end(), [](const DiffRow& x, const DiffRow& y) {
    return std::abs(x.b_us - x.a_us) > std::abs(y.b_us - y.a_us);
  });
  return diff;
}

}  // namespace dfsim::inline study
