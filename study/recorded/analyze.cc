#include "study/recorded/analyze.h"

#include <utility>

#include "datasets/traces/trace_reader.h"
#include "study/replay/advice.h"

namespace dfsim::inline study {

StatusOr<AnalyzedTraces> analyze(const AnalyzeOptions& options, const Progress& progress) {
  AnalyzedTraces analyzed;
  for (const std::string& path : options.traces) {
    DFSIM_RETURN_IF_ERROR(progress.stage("reading " + path));
    DFSIM_ASSIGN_OR_RETURN(Trace trace, read_trace(path));
    DFSIM_RETURN_IF_ERROR(
        progress.stage("analyzing " + std::to_string(trace.spans.size()) + " spans"));
    analyzed.analyses.push_back(analyze_trace(trace));
    if (options.advice) {
      DFSIM_RETURN_IF_ERROR(progress.stage("simulating what changes would bring"));
      DFSIM_RETURN_IF_ERROR(advise(trace, &analyzed.analyses.back()));
    }
    analyzed.traces.push_back(std::move(trace));
  }
  analyzed.ranks = compare_ranks(analyzed.analyses);
  return analyzed;
}

StatusOr<TraceDiff> diff(const DiffOptions& options, const Progress& progress) {
  DFSIM_RETURN_IF_ERROR(progress.stage("reading " + options.a));
  DFSIM_ASSIGN_OR_RETURN(const Trace a, read_trace(options.a));
  DFSIM_RETURN_IF_ERROR(progress.stage("reading " + options.b));
  DFSIM_ASSIGN_OR_RETURN(const Trace b, read_trace(options.b));
  return diff_traces(analyze_trace(a), analyze_trace(b), options.by_node);
}

}  // namespace dfsim::inline study
