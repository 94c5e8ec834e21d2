// Work that performance counters measured: FLOPs and bytes of memory traffic of each operator,
// where a trace has counters that tell them.
//
// Known are perf's events of Intel and AMD processors, the metrics of nvprof and Nsight Compute,
// AMD's GPU counters, and LIKWID's derived metrics. A name that tells part of the work (loads but
// no stores) counts as that part.
#pragma once

#include <string_view>
#include <vector>

#include "datasets/traces/trace.h"

namespace dfsim::inline study {

// The work of one span, with the device work that belongs to it. -1 = no counter tells.
struct CountedWork {
  double flops = -1;
  double bytes = -1;
};

// The FLOPs or bytes of one count of a counter; both are 0 where it counts something else.
struct CounterMeaning {
  double flops = 0;
  double bytes = 0;
};
CounterMeaning meaning_of_counter(std::string_view name);

// By span. Empty when the trace has no counters of work. O(counters).
std::vector<CountedWork> counted_work(const Trace& trace);

}  // namespace dfsim::inline study
