// Views of trace analyses: text for people (80 columns), JSON for programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/analysis/trace_analysis.h"

namespace dfsim::inline report {

// Of the JSON below; the number is raised when a field changes its meaning or goes.
inline constexpr std::string_view kAnalysisSchema = "dfsim.analyze/1";

// `top` rows of each long table.
std::string analysis_text(const TraceAnalysis& analysis, const Trace& trace, size_t top);
// The table of ranks; "" for fewer than two.
std::string ranks_text(const std::vector<RankRow>& ranks);

// {"schema", "traces": [...], "ranks": [...]}: every row of every table. Doubles are
// written so that they are read back exactly. `traces` in the order of `analyses`.
// `timeline` adds the spans that a page draws: operators, calls and device work, of more than
// kMaxTimelineSpans the longest.
std::string analyses_json(const std::vector<TraceAnalysis>& analyses,
                          const std::vector<Trace>& traces, bool timeline = false);
inline constexpr size_t kMaxTimelineSpans = 100'000;

}  // namespace dfsim::inline report
