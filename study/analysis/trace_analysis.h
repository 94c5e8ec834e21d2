// Where the time and memory of a recorded run went: everything `dfsim analyze` says about one
// trace, collected once. Text, JSON and HTML are printed from these structs.
//
// Breakdown (as TraceLens and HolisticTraceAnalysis define it): with the unions of compute,
// communication and copy spans of a device, computation = compute; exposed communication =
// communication - compute; exposed copies = copies - compute - communication; idle is the rest of
// the time from the first to the last piece of work, and the four add up to the total. Memsets
// count as compute. Work that belongs to no recorded operator is left out where the format links
// all work. A trace without device work is taken as one of the host: its operators are the compute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/traces/trace.h"
#include "study/analysis/trace_figures.h"

namespace dfsim::inline study {

// O(n log n) over spans and memory records.
// Without `path`, critical_path stays empty for the caller to fill.
TraceAnalysis analyze_trace(const Trace& trace, bool path = true);

// Several traces of one run: who is late.
struct RankRow {
  std::string path;
  int64_t rank = -1;
  Breakdown breakdown;
  double over_median = 0;  // busy time without communication over the ranks' median, minus 1
  // Of the collectives that all ranks have: how often it came last, so that the others waited, and
  // how long it waited itself. All 0 where the traces have different numbers of them.
  int64_t collectives = 0;
  int64_t came_last = 0;
  double waited_us = 0;
};
// In order of rank; empty for fewer than two traces.
std::vector<RankRow> compare_ranks(const std::vector<TraceAnalysis>& traces);

}  // namespace dfsim::inline study
