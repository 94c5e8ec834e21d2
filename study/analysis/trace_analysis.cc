// Collects the parts of an analysis in the order in which they depend on each other. All of it
// works on unions of intervals: work that overlaps counts once in a breakdown.
#include "study/analysis/trace_analysis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "datasets/profiles/statistics.h"
#include "study/analysis/analysis_parts.h"
#include "study/analysis/intervals.h"

namespace dfsim::inline study {
namespace {

// Gaps shorter than this are what a device needs between two kernels (HolisticTraceAnalysis).
constexpr double kKernelGapUs = 0.03;

Intervals intervals_of(const Trace& trace, const std::vector<SpanId>& spans, bool communication,
                       bool copies) {
  Intervals intervals;
  for (const SpanId id : spans) {
    const Span& span = trace.span(id);
    const bool is_comm = span.communication;
    const bool is_copy = span.kind == SpanKind::kCopy;
    // A communication kernel does not count as compute; a copy is never communication.
    if ((communication && is_comm && !is_copy) || (copies && is_copy) ||
        (!communication && !copies && !is_comm && !is_copy)) {
      intervals.emplace_back(span.start_us, span.end_us);
    }
  }
  return unite(std::move(intervals));
}

// The breakdown covers device work, or without any the host's operators.
std::vector<SpanId> work_of(const Trace& trace, TraceAnalysis* analysis) {
  std::vector<SpanId> work;
  std::vector<SpanId> ops;
  bool any_op = false;
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    if (is_device_work(span.kind)) {
      work.push_back(SpanId(i));
    } else if (span.kind == SpanKind::kOp) {
      any_op = true;
      ops.push_back(SpanId(i));
    }
  }
  analysis->on_device = !work.empty();
  if (work.empty()) {
    return ops;
  }
  if (trace.links_work && any_op) {
    const auto unlinked = [&trace](SpanId id) { return !trace.span(id).op.valid(); };
    const auto linked_end = std::remove_if(work.begin(), work.end(), unlinked);
    analysis->unlinked_work = work.end() - linked_end;
    if (linked_end != work.begin()) {
      work.erase(linked_end, work.end());
    } else {
      analysis->unlinked_work = 0;  // nothing is linked at all: the format's older form
    }
  }
  return work;
}

QueueUse queue_use(const Trace& trace, TrackId track, const std::vector<SpanId>& items) {
  QueueUse use;
  use.device = trace.track(track).process;
  use.name = trace.track(track).name;
  use.items = static_cast<int64_t>(items.size());
  Intervals busy;
  double end_us = trace.span(items.front()).start_us;
  for (const SpanId id : items) {
    const Span& span = trace.span(id);
    busy.emplace_back(span.start_us, span.end_us);
    const double gap_us = span.start_us - end_us;
    if (gap_us > 0) {
      IdleCause cause = IdleCause::kOther;
      if (span.launch.valid() && trace.span(span.launch).start_us > end_us) {
        cause = IdleCause::kHost;
      } else if (gap_us < kKernelGapUs) {
        cause = IdleCause::kKernelGap;
      }
      use.idle_us[static_cast<size_t>(cause)] += gap_us;
    }
    end_us = std::max(end_us, span.end_us);
  }
  use.busy_us = total_length(unite(std::move(busy)));
  return use;
}

// Launched and not yet begun: mean over the time from the first launch to the last begin.
void measure_queue(const Trace& trace, const std::vector<SpanId>& items, QueueUse* use) {
  std::vector<std::pair<double, int>> changes;
  for (const SpanId id : items) {
    const Span& span = trace.span(id);
    if (span.launch.valid() && trace.span(span.launch).start_us <= span.start_us) {
      changes.emplace_back(trace.span(span.launch).start_us, -1);  // sorts before a begin
      changes.emplace_back(span.start_us, 1);
    }
  }
  std::sort(changes.begin(), changes.end());
  double area = 0;
  int64_t length = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    area += i == 0 ? 0 : static_cast<double>(length) * (changes[i].first - changes[i - 1].first);
    length -= changes[i].second;
    use->max_length = std::max(use->max_length, length);
  }
  const double time_us = changes.empty() ? 0 : changes.back().first - changes.front().first;
  use->mean_length = time_us > 0 ? area / time_us : 0;
}

void add_queues(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis) {
  std::map<TrackId, std::vector<SpanId>> queues;
  for (const SpanId id : work) {
    queues[trace.span(id).track].push_back(id);
  }
  for (const auto& [track, items] : queues) {
    QueueUse use = queue_use(trace, track, items);
    measure_queue(trace, items, &use);
    analysis->queues.push_back(std::move(use));
  }
}

void add_launches(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis) {
  std::vector<double> calls;
  std::vector<double> delays;
  for (const SpanId id : work) {
    const Span& span = trace.span(id);
    if (!span.launch.valid()) {
      continue;
    }
    const Span& call = trace.span(span.launch);
    calls.push_back(call.duration_us());
    delays.push_back(std::max(0.0, span.start_us - call.end_us));
    analysis->launches.shorter_than_call += span.duration_us() < call.duration_us() ? 1 : 0;
  }
  analysis->launches.call = spread_of(std::move(calls));
  analysis->launches.delay = spread_of(std::move(delays));
}

void add_steps(const Trace& trace, TraceAnalysis* analysis) {
  std::vector<double> steps;
  for (const Span& span : trace.spans) {
    const std::string& name = trace.text(span.name);
    if (span.kind == SpanKind::kAnnotation && trace.track(span.track).kind == TrackKind::kHost &&
        (name.starts_with("ProfilerStep#") || name == "model_run")) {
      steps.push_back(span.duration_us());
    }
  }
  analysis->steps = spread_of(std::move(steps));
}

void add_collectives(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis) {
  for (const SpanId id : work) {
    const Span& span = trace.span(id);
    if (span.communication && span.kind == SpanKind::kKernel) {
      analysis->collectives_us.push_back(span.duration_us());
    }
  }
}

}  // namespace

Breakdown breakdown_of(const Trace& trace, const std::vector<SpanId>& spans) {
  Breakdown result;
  if (spans.empty()) {
    return result;
  }
  const Intervals compute = intervals_of(trace, spans, false, false);
  const Intervals communication = intervals_of(trace, spans, true, false);
  const Intervals copies = intervals_of(trace, spans, false, true);
  double first_us = trace.span(spans.front()).start_us;
  double last_us = first_us;
  for (const SpanId id : spans) {
    first_us = std::min(first_us, trace.span(id).start_us);
    last_us = std::max(last_us, trace.span(id).end_us);
  }
  result.computation_us = total_length(compute);
  result.communication_us = total_length(communication);
  result.copy_us = total_length(copies);
  result.exposed_communication_us = total_length(subtract(communication, compute));
  result.exposed_copy_us = total_length(subtract(subtract(copies, compute), communication));
  result.total_us = last_us - first_us;
  result.idle_us = result.total_us - result.busy_us();
  return result;
}

Spread spread_of(std::vector<double> durations_us) {
  Spread spread;
  spread.count = static_cast<int64_t>(durations_us.size());
  if (durations_us.empty()) {
    return spread;
  }
  for (const double duration : durations_us) {
    spread.total_us += duration;
  }
  spread.deviation_us = durations_us.size() > 1 ? standard_deviation(durations_us) : 0;
  std::sort(durations_us.begin(), durations_us.end());
  spread.min_us = durations_us.front();
  spread.max_us = durations_us.back();
  // The nearest rank.
  const size_t rank = (95 * durations_us.size() + 99) / 100;
  spread.p95_us = durations_us[rank - 1];
  spread.median_us = median(durations_us);
  return spread;
}

std::string_view idle_cause_name(IdleCause cause) {
  constexpr std::array<std::string_view, kIdleCauseCount> kNames = {"host", "kernel-gap", "other"};
  return kNames[static_cast<size_t>(cause)];
}

TraceAnalysis analyze_trace(const Trace& trace, bool path) {
  TraceAnalysis analysis;
  analysis.path = trace.path;
  analysis.format = trace.format;
  analysis.device_name = trace.device_name;
  analysis.rank = trace.rank;
  analysis.events = trace.events;
  analysis.spans = static_cast<int64_t>(trace.spans.size());
  analysis.warnings = trace.warnings;
  if (!trace.spans.empty()) {
    analysis.start_us = trace.spans.front().start_us;
    analysis.end_us = analysis.start_us;
    for (const Span& span : trace.spans) {
      analysis.end_us = std::max(analysis.end_us, span.end_us);
    }
  }
  const std::vector<SpanId> work = work_of(trace, &analysis);
  analysis.breakdown = breakdown_of(trace, work);
  if (analysis.on_device) {
    add_queues(trace, work, &analysis);
    add_launches(trace, work, &analysis);
    add_kernel_rows(trace, work, &analysis);
    add_copy_rows(trace, work, &analysis);
    add_collectives(trace, work, &analysis);
    add_recompute(trace, work, &analysis);
  }
  add_op_rows(trace, work, &analysis);
  add_waits(trace, &analysis);
  add_host_states(trace, &analysis);
  add_memory(trace, &analysis);
  add_steps(trace, &analysis);
  if (path) {
    analysis.critical_path = find_trace_path(trace);
  }
  return analysis;
}

}  // namespace dfsim::inline study
