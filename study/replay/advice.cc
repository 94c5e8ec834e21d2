#include "study/replay/advice.h"

#include <algorithm>

namespace dfsim::inline study {
namespace {

constexpr uint64_t kSeed = 1;

double us(TimeNs time_ns) { return static_cast<double>(time_ns) / kNsPerUs; }

}  // namespace

const std::vector<AdviceRule>& advice_rules() {
  static const std::vector<AdviceRule> kRules = {
      {"launch-overhead", find_launch_overhead},
      {"fusion", find_fusion},
      {"synchronisation", find_host_synchronisation},
      {"allocator-growth", find_allocator_growth},
      {"input-stalls", find_input_stalls},
      {"pageable-copies", find_pageable_copies},
      {"layout-copies", find_layout_copies},
      {"placement", find_placement},
      {"worker-placement", find_worker_moves},
      {"communication", find_exposed_communication},
      {"serial-section", find_serial_section},
      {"batch", find_batch_that_fits},
      {"recomputation", find_recomputation},
      {"preemption", find_preemption},
      {"blocking-calls", find_blocking_calls},
      {"threads", find_thread_settings},
  };
  return kRules;
}

namespace {

ReplayGraph without(const ReplayGraph& graph, const std::vector<uint32_t>& aside) {
  ReplayGraph changed = graph;
  for (const uint32_t p : aside) {
    changed.pieces[p].time_ns = changed.pieces[p].low_ns = changed.pieces[p].high_ns = 0;
  }
  return changed;
}

// The span with the uncertain pieces at one end of their intervals.
StatusOr<TimeNs> span_at(const Finding& finding, TimeNs Piece::*end_ns) {
  ReplayGraph graph = finding.changed;
  for (const uint32_t p : finding.uncertain) {
    graph.pieces[p].time_ns = graph.pieces[p].*end_ns;
  }
  return replay_span(graph);
}

}  // namespace

Status advise(const Trace& trace, TraceAnalysis* analysis) {
  analysis->advice.asked = true;
  const auto graph = make_replay_graph(trace);
  if (!graph.ok()) {
    return ok_status();  // nothing to replay, nothing to advise
  }
  return advise(trace, *graph, analysis);
}

Status advise(const Trace& trace, const ReplayGraph& graph, TraceAnalysis* analysis,
              const Progress& progress) {
  analysis->advice.asked = true;
  DFSIM_ASSIGN_OR_RETURN(const TimeNs base_ns, replay_span(graph));
  const auto least_gain_ns = static_cast<TimeNs>(kLeastGain * static_cast<double>(base_ns));
  DFSIM_ASSIGN_OR_RETURN(const ReplayInterval interval,
                         replay_interval(graph, kSeed, progress, least_gain_ns));
  analysis->advice.width_us =
      std::max(us(interval.high_ns - interval.low_ns), kLeastGain * us(base_ns));
  const AdviceInput input{trace, *analysis, graph};
  std::vector<Advice> found;
  double done = 0;
  for (const AdviceRule& rule : advice_rules()) {
    progress.advance(done++, static_cast<double>(advice_rules().size()), "changes");
    Finding finding = rule.find(input);
    if (finding.insight.empty()) {
      continue;
    }
    TimeNs before_ns = base_ns;
    if (!finding.aside.empty()) {
      DFSIM_ASSIGN_OR_RETURN(before_ns, replay_span(without(graph, finding.aside)));
      finding.changed = without(finding.changed, finding.aside);
    }
    DFSIM_ASSIGN_OR_RETURN(const TimeNs changed_ns, replay_span(finding.changed));
    Advice advice;
    advice.kind = rule.kind;
    advice.insight = finding.insight;
    advice.action = finding.action;
    advice.before_us = us(before_ns);
    advice.after_us = us(changed_ns) / finding.per_run;
    if (!finding.uncertain.empty()) {
      DFSIM_ASSIGN_OR_RETURN(const TimeNs low_ns, span_at(finding, &Piece::low_ns));
      DFSIM_ASSIGN_OR_RETURN(const TimeNs high_ns, span_at(finding, &Piece::high_ns));
      advice.after_low_us = us(low_ns);
      advice.after_high_us = us(high_ns);
    }
    const bool kept = advice.before_us - advice.after_us > analysis->advice.width_us;
    progress.decide("advice", {{"change", std::string(rule.kind)},
                               {"saves", format_time(before_ns - changed_ns)},
                               {"shown", kept ? "yes" : "no, within the interval"}});
    if (kept) {
      found.push_back(std::move(advice));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Advice& a, const Advice& b) {
    return a.before_us - a.after_us > b.before_us - b.after_us;
  });
  analysis->advice.list = std::move(found);
  return ok_status();
}

}  // namespace dfsim::inline study
