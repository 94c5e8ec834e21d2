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
  const auto add = [&](bool is_b, const std::string& name, const std::string& detail, int64_t calls,
                       double time_us) {
    DiffRow& row = rows[{name, detail}];
    (is_b ? row.calls_b : row.calls_a) += calls;
    (is_b ? row.b_us : row.a_us) += time_us;
    (is_b ? diff.ops_b_us : diff.ops_a_us) += time_us;
  };
  diff.of_kernels = (a.ops.empty() || b.ops.empty()) && !(a.kernels.empty() && b.kernels.empty());
  for (const bool is_b : {false, true}) {
    const TraceAnalysis& trace = is_b ? b : a;
    for (const OpRow& op : by_node ? trace.nodes : trace.ops) {
      if (!diff.of_kernels) {
        add(is_b, op.name, op.detail, op.calls, op.time.total_us);
      }
    }
    for (const KernelRow& kernel : trace.kernels) {
      if (diff.of_kernels) {
        add(is_b, kernel.name, kernel.kind, kernel.time.count, kernel.time.total_us);
      }
    }
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
