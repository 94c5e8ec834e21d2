// ThreadStates: from the kernel's scheduling events to the times in which threads did not run.
//
// A thread that leaves its CPU while it could run was preempted, by the program that comes next;
// one that leaves it in another state is blocked in the system call that it is in, until it is
// woken; from then on it waits for a CPU. An interrupt's handler takes the CPU from the thread on
// it. A thread that blocks outside any call, right after a page fault, waits for the page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "datasets/traces/ctf/ctf_event.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

class ThreadStates {
 public:
  // sched_switch: adds the pause of the thread that comes back to trace->pauses.
  void switched(const CtfEvent& event, double time_us, Trace* trace);
  // sched_wakeup, sched_waking.
  void woken(const CtfEvent& event, double time_us);
  // A page fault of the thread.
  void faulted(int64_t thread, double time_us, Trace* trace);
  // An interrupt's handler begins or ends on a CPU, on which `thread` runs.
  void interrupt_begins(int64_t cpu, std::string_view handler, double time_us);
  void interrupt_ends(int64_t cpu, int64_t thread, double time_us, Trace* trace);
  // The thread enters a system call, or leaves it (call "").
  void in_call(int64_t thread, std::string_view call);

 private:
  struct Away {
    double since_us = 0;
    double woken_us = -1;  // before 0: not yet
    bool preempted = false;
    std::string cause;
  };

  std::unordered_map<int64_t, Away> away_;          // by thread
  std::unordered_map<int64_t, std::string> calls_;  // by thread: the call that it is in
  std::unordered_map<int64_t, double> fault_us_;    // by thread: its latest fault
  struct Handler {
    std::string name;
    double since_us = 0;
  };
  std::unordered_map<int64_t, std::vector<Handler>> handlers_;  // by CPU, innermost last
};

}  // namespace dfsim::inline datasets
