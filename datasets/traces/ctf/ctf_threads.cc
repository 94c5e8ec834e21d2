// The states of threads, each known by its number. The idle task has the number 0.
#include "datasets/traces/ctf/ctf_threads.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

constexpr int64_t kIdleTask = 0;
// A thread that blocks this soon after a page fault waits for the page.
constexpr double kFaultUs = 100;

void add_pause(int64_t thread, double start_us, double end_us, ThreadPause::Kind kind,
               std::string_view cause, Trace* trace) {
  if (end_us > start_us) {
    const NameId name = cause.empty() ? NameId() : trace->intern(printable(cause, 200));
    trace->pauses.push_back({thread, start_us, end_us, kind, name});
  }
}

}  // namespace

void ThreadStates::switched(const CtfEvent& event, double time_us, Trace* trace) {
  const int64_t leaves = event.integer({"prev_tid"});
  const int64_t comes = event.integer({"next_tid"});
  if (leaves > kIdleTask) {
    Away away;
    away.since_us = time_us;
    away.preempted = event.integer({"prev_state"}, 0) == 0;
    const auto call = calls_.find(leaves);
    const auto fault = fault_us_.find(leaves);
    away.cause = away.preempted ? std::string(comes == kIdleTask ? "" : event.text({"next_comm"}))
                 : call != calls_.end()                                           ? call->second
                 : fault != fault_us_.end() && time_us - fault->second < kFaultUs ? "page fault"
                                                                                  : "";
    away_[leaves] = std::move(away);
  }
  const auto back = away_.find(comes);
  if (back == away_.end()) {
    return;
  }
  const Away& away = back->second;
  if (away.preempted) {
    add_pause(comes, away.since_us, time_us, ThreadPause::Kind::kPreempted, away.cause, trace);
  } else {
    // On an idle CPU the way back is part of the wait.
    const bool waited_for_cpu = away.woken_us >= 0 && leaves != kIdleTask;
    const double end_us = waited_for_cpu ? away.woken_us : time_us;
    add_pause(comes, away.since_us, end_us, ThreadPause::Kind::kBlocked, away.cause, trace);
    add_pause(comes, end_us, time_us, ThreadPause::Kind::kPreempted, event.text({"prev_comm"}),
              trace);
  }
  away_.erase(back);
}

void ThreadStates::woken(const CtfEvent& event, double time_us) {
  const auto away = away_.find(event.integer({"tid"}));
  if (away != away_.end() && away->second.woken_us < 0) {
    away->second.woken_us = time_us;
  }
}

void ThreadStates::faulted(int64_t thread, double time_us, Trace* trace) {
  if (thread > kIdleTask) {
    fault_us_[thread] = time_us;
    trace->faults.push_back({thread, time_us});
  }
}

void ThreadStates::interrupt_begins(int64_t cpu, std::string_view handler, double time_us) {
  handlers_[cpu].push_back({std::string(handler), time_us});
}

// Only the outermost handler counts: the others run inside its time.
void ThreadStates::interrupt_ends(int64_t cpu, int64_t thread, double time_us, Trace* trace) {
  std::vector<Handler>& handlers = handlers_[cpu];
  if (handlers.empty()) {
    return;
  }
  const Handler handler = std::move(handlers.back());
  handlers.pop_back();
  if (handlers.empty() && thread > kIdleTask) {
    add_pause(thread, handler.since_us, time_us, ThreadPause::Kind::kInterrupted, handler.name,
              trace);
  }
}

void ThreadStates::in_call(int64_t thread, std::string_view call) {
  if (call.empty()) {
    calls_.erase(thread);
  } else {
    calls_[thread] = call;
  }
}

}  // namespace dfsim::inline datasets
