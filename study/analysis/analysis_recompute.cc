#include <unordered_map>

#include "study/analysis/analysis_parts.h"

namespace dfsim::inline study {
namespace {

// The function of torch/utils/checkpoint.py that runs a part of the forward pass again.
bool is_recompute(const std::string& function) {
  return function.find("checkpoint.py") != std::string::npos &&
         function.find("recompute_fn") != std::string::npos;
}

}  // namespace

std::vector<bool> recomputed_spans(const Trace& trace) {
  std::vector<bool> inside(trace.spans.size(), false);
  std::unordered_map<NameId, bool> known;
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    inside[i] = span.parent.valid() && inside[span.parent.index()];
    if (span.kind == SpanKind::kPython && !inside[i]) {
      const auto [it, is_new] = known.try_emplace(span.name, false);
      if (is_new) {
        it->second = is_recompute(trace.text(span.name));
      }
      inside[i] = it->second;
    }
  }
  return inside;
}

void add_recompute(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis) {
  const std::vector<bool> inside = recomputed_spans(trace);
  std::vector<SpanId> again;
  std::vector<SpanId> rest;
  for (const SpanId id : work) {
    const Span& span = trace.span(id);
    if (span.kind == SpanKind::kMemset) {
      continue;
    }
    const SpanId caller = span.launch.valid() ? span.launch : span.op;
    const bool recomputed = caller.valid() && inside[caller.index()];
    (recomputed ? again : rest).push_back(id);
  }
  if (!again.empty()) {
    analysis->recompute.items = static_cast<int64_t>(again.size());
    analysis->recompute.again = breakdown_of(trace, again);
    analysis->recompute.first = breakdown_of(trace, rest);
  }
}

}  // namespace dfsim::inline study
