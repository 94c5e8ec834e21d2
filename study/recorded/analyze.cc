#include "study/recorded/analyze.h"

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "base/cancellation.h"
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

// An analysis, and what its replay needs; nothing where it is not asked for or the trace has
// nothing to replay.
struct Analyzed {
  TraceAnalysis analysis;
  std::optional<ReplayGraph> graph;
};

// The tables and the replay graph know nothing of each other and take about as long for a large
// trace, so each has a thread.
Analyzed analyze_one(const AnalyzeOptions& options, const Trace& trace) {
  const bool by_replay = options.critical_path == "replay";
  Analyzed analyzed;
  const std::array<std::function<void()>, 2> parts = {
      [&] { analyzed.analysis = analyze_trace(trace, /*path=*/!by_replay); },
      [&] {
        if (by_replay || options.advice) {
          auto graph = make_replay_graph(trace, /*spreads=*/options.advice);
          if (graph.ok()) {
            analyzed.graph = std::move(*graph);
          }
        }
      }};
  std::atomic<size_t> next = 0;
  run_on_threads(parts.size(), [&] {
    for (size_t part = next++; part < parts.size(); part = next++) {
      parts[part]();
    }
  });
  analyzed.analysis.advice.asked = options.advice;
  analyzed.analysis.path_method = by_replay ? "replay" : "hta";
  if (by_replay && analyzed.graph.has_value()) {
    analyzed.analysis.critical_path = find_replay_path(*analyzed.graph);
  }
  return analyzed;
}

}  // namespace

StatusOr<AnalyzedTraces> analyze(const AnalyzeOptions& options, const Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const TraceWindow window, parse_window(options.window));
  AnalyzedTraces analyzed;
  for (const std::string& path : options.traces) {
    DFSIM_RETURN_IF_ERROR(progress.stage("reading " + path));
    DFSIM_ASSIGN_OR_RETURN(Trace trace, read_trace(path, progress.read_bytes(), window));
    explain_trace(trace, progress);
    for (const std::string& file :
         analyzed.traces.empty() ? options.counters : std::vector<std::string>{}) {
      DFSIM_RETURN_IF_ERROR(add_counter_file(file, &trace).status());
    }
    DFSIM_RETURN_IF_ERROR(
        progress.stage("analyzing " + std::to_string(trace.spans.size()) + " spans"));
    Analyzed one = analyze_one(options, trace);
    if (options.advice && one.graph.has_value()) {
      DFSIM_RETURN_IF_ERROR(progress.stage("simulating what changes would bring"));
      DFSIM_RETURN_IF_ERROR(advise(trace, *one.graph, &one.analysis, progress));
    }
    one.analysis.window = options.window;
    analyzed.analyses.push_back(std::move(one.analysis));
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
