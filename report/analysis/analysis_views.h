// Views of trace analyses: text for people (80 columns), JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "report/analysis/trace_analysis.h"

namespace dfsim {

// The version of the JSON below; raised when a field changes its meaning or goes.
inline constexpr int kAnalysisSchemaVersion = 1;

// `top` rows of each long table.
std::string analysis_text(const TraceAnalysis& analysis, const Trace& trace, size_t top);
// The table of ranks; "" for fewer than two.
std::string ranks_text(const std::vector<RankRow>& ranks);

// {"schema_version", "traces": [...], "ranks": [...]}: every row of every table. Doubles are
// written so that they are read back exactly. `traces` in the order of `analyses`.
std::string analyses_json(const std::vector<TraceAnalysis>& analyses,
                          const std::vector<Trace>& traces);

}  // namespace dfsim
