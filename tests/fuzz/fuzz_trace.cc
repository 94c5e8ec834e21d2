// Traces: whatever bytes a file holds, reading and analysing it ends with a trace or one line. The
// corpus has a small file of each format; the first bytes say which reader it is for.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "datasets/traces/trace_reader.h"
#include "report/analysis/analysis_views.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto trace = dfsim::read_trace_content("fuzz", std::string(data, data + size));
  if (!trace.ok()) {
    if (trace.status().message().find('\n') != std::string::npos) {
      std::abort();
    }
    return 0;
  }
  const dfsim::TraceAnalysis analysis = dfsim::analyze_trace(*trace);
  if (dfsim::analysis_text(analysis, *trace, 5).empty() ||
      dfsim::analyses_json({analysis}, {*trace}).empty()) {
    std::abort();
  }
  return 0;
}
