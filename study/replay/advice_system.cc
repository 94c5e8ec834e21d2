// Rules about the operating system: threads that other programs preempt, and threads that wait in
// system calls.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/text.h"
#include "study/replay/advice.h"

namespace dfsim::inline study {
namespace {

// Takes the pauses of a kind out of the pieces of host threads. Returns by cause how many there
// were and their time.
struct Removed {
  int64_t pauses = 0;
  TimeNs time_ns = 0;
};

std::map<std::string, Removed> remove_pauses(const AdviceInput& input, ThreadPause::Kind kind,
                                             ReplayGraph* changed) {
  std::map<int64_t, std::vector<uint32_t>> lanes;  // by thread
  for (uint32_t lane = 0; lane < changed->lanes.size(); ++lane) {
    lanes[input.trace.track(changed->lanes[lane].track).thread].push_back(lane);
  }
  std::map<std::string, Removed> removed;
  const auto ns = [&input](double us) {
    return ns_from_seconds(std::max(0.0, us - input.graph.start_us) / 1e6);
  };
  for (const ThreadPause& pause : input.trace.pauses) {
    const auto of_thread = lanes.find(pause.thread);
    if (pause.kind != kind || pause.thread < 0 || of_thread == lanes.end()) {
      continue;
    }
    TimeNs taken_ns = 0;
    for (const uint32_t lane : of_thread->second) {
      const std::vector<uint32_t>& order = changed->order[lane];
      auto at = std::ranges::partition_point(
          order, [&](uint32_t p) { return changed->pieces[p].end_ns <= ns(pause.start_us); });
      for (; at != order.end() && changed->pieces[*at].start_ns < ns(pause.end_us); ++at) {
        Piece& piece = changed->pieces[*at];
        if (piece.kind != PieceKind::kOp && piece.kind != PieceKind::kCall) {
          continue;
        }
        const TimeNs overlap_ns =
            std::min(piece.end_ns, ns(pause.end_us)) - std::max(piece.start_ns, ns(pause.start_us));
        const TimeNs cut_ns = std::min(piece.time_ns, overlap_ns);
        piece.time_ns -= cut_ns;
        piece.low_ns = std::min(piece.low_ns, piece.time_ns);
        piece.high_ns = std::max(piece.time_ns, piece.high_ns - cut_ns);
        taken_ns += cut_ns;
      }
    }
    if (taken_ns > 0) {
      Removed& of_cause = removed[input.trace.text(pause.cause)];
      ++of_cause.pauses;
      of_cause.time_ns += taken_ns;
    }
  }
  return removed;
}

// The cause with the most time, and the operator that suffers most.
struct Worst {
  std::string cause;
  Removed removed;
  std::string op;
};

Worst worst_of(const std::map<std::string, Removed>& removed, const TraceAnalysis& analysis,
               double HostStateRow::*time_us) {
  Worst worst;
  for (const auto& [cause, of_cause] : removed) {
    if (of_cause.time_ns > worst.removed.time_ns) {
      worst.cause = cause;
      worst.removed = of_cause;
    }
  }
  double most_us = 0;
  for (const HostStateRow& row : analysis.host_states) {
    if (!row.call && row.*time_us > most_us) {
      most_us = row.*time_us;
      worst.op = row.name;
    }
  }
  return worst;
}

}  // namespace

Finding find_preemption(const AdviceInput& input) {
  Finding finding;
  finding.changed = input.graph;
  const auto removed = remove_pauses(input, ThreadPause::Kind::kPreempted, &finding.changed);
  const Worst worst = worst_of(removed, input.analysis, &HostStateRow::preempted_us);
  if (worst.removed.pauses > 0) {
    const std::string by = worst.cause.empty() ? "another program" : printable(worst.cause, 40);
    finding.insight =
        fmt::format("{} takes the CPU away {} ({}), most of all from {}", by,
                    counted(worst.removed.pauses, "time"), format_time(worst.removed.time_ns),
                    worst.op.empty() ? "the runtime's calls" : printable(worst.op, 40));
    finding.action = fmt::format(
        "give the program cores of its own (taskset, cpuset, isolcpus), or move {} to others or "
        "lower its priority (nice)",
        by);
  }
  return finding;
}

Finding find_blocking_calls(const AdviceInput& input) {
  Finding finding;
  finding.changed = input.graph;
  const auto removed = remove_pauses(input, ThreadPause::Kind::kBlocked, &finding.changed);
  const Worst worst = worst_of(removed, input.analysis, &HostStateRow::blocked_us);
  if (worst.removed.pauses > 0) {
    const std::string in = worst.cause.empty() ? "a wait" : printable(worst.cause, 40) + "()";
    finding.insight =
        fmt::format("{} blocks its thread {} ({}), most of all in {}", in,
                    counted(worst.removed.pauses, "time"), format_time(worst.removed.time_ns),
                    worst.op.empty() ? "the runtime's calls" : printable(worst.op, 40));
    finding.action =
        "let another thread make the call ahead of time (prefetching, asynchronous input), or "
        "keep its data in memory";
  }
  return finding;
}

}  // namespace dfsim::inline study
