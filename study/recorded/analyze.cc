#include "study/recorded/analyze.h"

#include <utility>

#include "datasets/traces/counters/counter_file.h"
#include "datasets/traces/trace_reader.h"
#include "study/replay/advice.h"
#include "study/replay/replay_path.h"

namespace dfsim::inline study {

namespace {

void explain_trace(const Trace& trace, const Progress& progress) {
  progress.decide("trace", {{"file", trace.path},
                            {"format", trace.format},
                            {"device", trace.device_name.empty() ? "unknown" : trace.device_name},
                            {"spans", std::to_string(trace.spans.size())},
                            {"tracks", std::to_string(trace.tracks.size())}});
}

// The parts of an analysis that the replay graph gives. A trace with nothing to replay has neither.
Status add_replayed(const AnalyzeOptions& options, const Progress& progress, const Trace& trace,
                    TraceAnalysis* analysis) {
  const bool by_replay = options.critical_path == "replay";
  analysis->advice.asked = options.advice;
  analysis->path_method = by_replay ? "replay" : "hta";
  if (!by_replay && !options.advice) {
    return ok_status();
  }
  const auto graph = make_replay_graph(trace, /*spreads=*/options.advice);
  if (!graph.ok()) {
    return ok_status();
  }
  if (by_replay) {
    analysis->critical_path = find_replay_path(*graph);
  }
  if (!options.advice) {
    return ok_status();
  }
  DFSIM_RETURN_IF_ERROR(progress.stage("simulating what changes would bring"));
  return advise(trace, *graph, analysis, progress);
}

}  // namespace

StatusOr<AnalyzedTraces> analyze(const AnalyzeOptions& options, const Progress& progress) {
  AnalyzedTraces analyzed;
  for (const std::string& path : options.traces) {
    DFSIM_RETURN_IF_ERROR(progress.stage("reading " + path));
    DFSIM_ASSIGN_OR_RETURN(Trace trace, read_trace(path, progress.read_bytes()));
    explain_trace(trace, progress);
    for (const std::string& file :
         analyzed.traces.empty() ? options.counters : std::vector<std::string>{}) {
      DFSIM_RETURN_IF_ERROR(add_counter_file(file, &trace).status());
    }
    DFSIM_RETURN_IF_ERROR(
        progress.stage("analyzing " + std::to_string(trace.spans.size()) + " spans"));
    analyzed.analyses.push_back(analyze_trace(trace, /*path=*/options.critical_path != "replay"));
    DFSIM_RETURN_IF_ERROR(add_replayed(options, progress, trace, &analyzed.analyses.back()));
    analyzed.traces.push_back(std::move(trace));
  }
  analyzed.ranks = compare_ranks(analyzed.analyses);
  return analyzed;
}

StatusOr<TraceDiff> diff(const DiffOptions& options, const Progress& progress) {
  DFSIM_RETURN_IF_ERROR(progress.stage("reading " + options.a));
  DFSIM_ASSIGN_OR_RETURN(const Trace a, read_trace(options.a, progress.read_bytes()));
  explain_trace(a, progress);
  DFSIM_RETURN_IF_ERROR(progress.stage("reading " + options.b));
  DFSIM_ASSIGN_OR_RETURN(const Trace b, read_trace(options.b, progress.read_bytes()));
  explain_trace(b, progress);
  DFSIM_RETURN_IF_ERROR(progress.stage("comparing"));
  return diff_traces(analyze_trace(a), analyze_trace(b), options.by_node);
}

}  // namespace dfsim::inline study
