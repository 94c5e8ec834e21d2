// Analyze and diff: where the time and memory of recorded runs went.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "datasets/traces/trace.h"
#include "study/analysis/trace_analysis.h"
#include "study/analysis/trace_diff.h"
#include "study/progress.h"

namespace dfsim::inline study {

struct AnalyzeOptions {
  std::vector<std::string> traces;    // of one run or several
  bool advice = true;                 // also simulate what changes would bring
  std::vector<std::string> counters;  // files of performance counters of the first trace
  // Whose definition the critical path has: "replay" (find_replay_path()) or "hta"
  // (find_trace_path(), HolisticTraceAnalysis's).
  std::string critical_path = "replay";
  std::string window;  // the part of the traces that counts, as parse_window() reads it
};

struct AnalyzedTraces {
  std::vector<Trace> traces;
  std::vector<TraceAnalysis> analyses;  // by trace
  std::vector<RankRow> ranks;           // empty for one trace
};

// Errors: those of read_trace() and advise(), Progress's.
StatusOr<AnalyzedTraces> analyze(const AnalyzeOptions& options, const Progress& progress = {});

struct DiffOptions {
  std::string a;
  std::string b;
  bool by_node = false;  // align by node or shapes too, not by the operator's name alone
};

// Errors: those of read_trace(), Progress's.
StatusOr<TraceDiff> diff(const DiffOptions& options, const Progress& progress = {});

}  // namespace dfsim::inline study
