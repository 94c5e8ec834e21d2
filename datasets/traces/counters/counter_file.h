// Performance counters from a file of their own, joined with a trace of the same program.
//
// Formats, told apart by their content: LIKWID's CSV of the marker API (`likwid-perfctr -m -o
// x.csv`: a region is named like an operator), Nsight Compute's CSV (`ncu --csv`), and nvprof's
// (`nvprof --csv --metrics`).
#pragma once

#include <string>

#include "base/status.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

struct CounterFileSummary {
  std::string format;      // "LIKWID", "Nsight Compute", "nvprof"
  int64_t joined = 0;      // names of the file that are in the trace
  int64_t not_joined = 0;  // names of the file that are not
};

// Adds the counters of a file to the spans of that name: operators, or kernels; the sum of a name
// is shared out evenly among its spans. Names of the file that the trace does not have become a
// warning. Errors: those of reading; kInvalidInput (no known format, a bad number, nothing that the
// trace has). O(lines + spans).
StatusOr<CounterFileSummary> add_counter_file(const std::string& path, Trace* trace);

}  // namespace dfsim::inline datasets
