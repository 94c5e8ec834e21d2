// The kernel's view of the host: how much of each operator's time its thread was running,
// preempted, interrupted, blocked in a system call, or waiting for the device.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "study/analysis/analysis_parts.h"

namespace dfsim::inline study {
namespace {

// Adds up causes and names the largest.
class Causes {
 public:
  void add(NameId cause, double us) { us_[cause] += us; }
  std::string largest(const Trace& trace) const {
    const auto most = std::ranges::max_element(
        us_, [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == us_.end() ? "" : trace.text(most->first);
  }

 private:
  std::map<NameId, double> us_;
};

struct StateGroup {
  HostStateRow row;
  Causes preempted_by;
  Causes blocked_in;
  Causes interrupted_by;
};

class StateCounter {
 public:
  StateCounter(const Trace& trace, TraceAnalysis* analysis) : trace_(trace), analysis_(analysis) {
    for (const ThreadPause& pause : trace.pauses) {
      pauses_[pause.thread].push_back(&pause);
    }
    for (const PageFault& fault : trace.faults) {
      faults_[fault.thread].push_back(fault.time_us);
    }
  }

  void count() {
    for (const Span& span : trace_.spans) {
      const Track& track = trace_.track(span.track);
      const bool op = span.kind == SpanKind::kOp && !span.op.valid();
      if (track.kind == TrackKind::kHost && track.thread >= 0 &&
          (op || span.kind == SpanKind::kRuntime)) {
        count_span(span, track.thread);
      }
    }
    for (auto& [key, group] : groups_) {
      HostStateRow& row = group.row;
      if (row.preempted_us + row.blocked_us + row.interrupted_us <= 0 && row.page_faults == 0) {
        continue;
      }
      row.interrupted_by = group.interrupted_by.largest(trace_);
      row.preempted_by = group.preempted_by.largest(trace_);
      row.blocked_in = group.blocked_in.largest(trace_);
      analysis_->host_states.push_back(std::move(row));
    }
    std::ranges::stable_sort(analysis_->host_states, std::ranges::greater{},
                             [](const HostStateRow& row) {
                               return row.preempted_us + row.blocked_us + row.interrupted_us;
                             });
  }

 private:
  void count_span(const Span& span, int64_t thread) {
    const bool call = span.kind == SpanKind::kRuntime;
    StateGroup& group = group_of(span.name, call);
    ++group.row.calls;
    group.row.total_us += span.duration_us();
    group.row.page_faults += faults_in(span, thread);
    // A call that waits for the device counts as waiting, whether it spins or sleeps.
    if (call && wait_kinds_.of(trace_, span) == "device") {
      group.row.device_us += span.duration_us();
      if (span.op.valid()) {
        outermost(span.op).row.device_us += span.duration_us();
      }
      return;
    }
    const auto of_thread = pauses_.find(thread);
    if (of_thread == pauses_.end()) {
      return;
    }
    const std::vector<const ThreadPause*>& pauses = of_thread->second;
    // Pauses of a thread follow each other, so their ends are in order, too.
    auto pause = std::ranges::upper_bound(pauses, span.start_us, {}, &ThreadPause::end_us);
    for (; pause != pauses.end() && (*pause)->start_us < span.end_us; ++pause) {
      const double us =
          std::min((*pause)->end_us, span.end_us) - std::max((*pause)->start_us, span.start_us);
      switch ((*pause)->kind) {
        case ThreadPause::Kind::kPreempted:
          group.row.preempted_us += us;
          group.preempted_by.add((*pause)->cause, us);
          break;
        case ThreadPause::Kind::kBlocked:
          group.row.blocked_us += us;
          group.blocked_in.add((*pause)->cause, us);
          break;
        case ThreadPause::Kind::kInterrupted:
          group.row.interrupted_us += us;
          group.interrupted_by.add((*pause)->cause, us);
          break;
      }
    }
  }

  int64_t faults_in(const Span& span, int64_t thread) const {
    const auto of_thread = faults_.find(thread);
    if (of_thread == faults_.end()) {
      return 0;
    }
    return std::ranges::upper_bound(of_thread->second, span.end_us) -
           std::ranges::lower_bound(of_thread->second, span.start_us);
  }

  StateGroup& outermost(SpanId op) {
    while (trace_.span(op).op.valid()) {
      op = trace_.span(op).op;
    }
    return group_of(trace_.span(op).name, false);
  }

  StateGroup& group_of(NameId name, bool call) {
    return *known_[call ? 1 : 0].of(trace_, name, [&](const std::string& text) {
      StateGroup* group = &groups_[{text, call}];
      group->row.name = text;
      group->row.call = call;
      return group;
    });
  }

  const Trace& trace_;
  TraceAnalysis* analysis_;
  std::unordered_map<int64_t, std::vector<const ThreadPause*>> pauses_;
  std::unordered_map<int64_t, std::vector<double>> faults_;
  std::map<std::pair<std::string, bool>, StateGroup> groups_;  // which stay where they are
  std::array<NameMemo<StateGroup*>, 2> known_;                 // of operators, of calls
  WaitKinds wait_kinds_;
};

}  // namespace

void add_host_states(const Trace& trace, TraceAnalysis* analysis) {
  if (!trace.pauses.empty() || !trace.faults.empty()) {
    StateCounter(trace, analysis).count();
  }
}

}  // namespace dfsim::inline study
