// What every trace must keep, whichever reader made it.
#pragma once

#include <cstdlib>

#include "report/recordings/analysis_views.h"

namespace dfsim {

// Refused with one line, or analysed to the end.
inline void check_trace(const StatusOr<Trace>& trace) {
  if (!trace.ok()) {
    if (trace.status().message().empty() ||
        trace.status().message().find('\n') != std::string::npos) {
      std::abort();
    }
    return;
  }
  const TraceAnalysis analysis = analyze_trace(*trace);
  if (analysis_text(analysis, *trace, 5).empty() || analyses_json({analysis}, {*trace}).empty()) {
    std::abort();
  }
}

}  // namespace dfsim
