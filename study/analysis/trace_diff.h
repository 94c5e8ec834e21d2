// Two recorded runs (or a recorded and a simulated one) side by side: what got slower, by how much
// of the total, and what only one of them has.
#pragma once

#include <string>
#include <vector>

#include "study/analysis/trace_analysis.h"

namespace dfsim::inline study {

struct DiffRow {
  std::string name;
  std::string detail;
  int64_t calls_a = 0;
  int64_t calls_b = 0;
  double a_us = 0;
  double b_us = 0;
  double change = 0;  // of the time, over the total of A; positive = slower in B
};

struct TraceDiff {
  std::string path_a;
  std::string path_b;
  Breakdown a;
  Breakdown b;
  double ops_a_us = 0;  // summed over the rows
  double ops_b_us = 0;
  std::vector<DiffRow> rows;  // greatest change first, either way
  bool of_kernels = false;    // rows are kernels, because a trace has no operators
};

// Aligns kernels by name and kind when one of the traces has no operators with time, otherwise
// aligns operators by name, or by name and node or shapes with `by_node`. Times are those of the
// operators' tables: device work, or own host time where there is no device. O(rows log rows).
TraceDiff diff_traces(const TraceAnalysis& a, const TraceAnalysis& b, bool by_node);

}  // namespace dfsim::inline study
