// Runs copies of a command at once and measures them: wall time, processor time, counters, output.
//
// Each copy leads a process group of its own, so that all that it started ends with it: when it is
// done, when it takes too long, and when a signal ends dfsim. The kernel kills the copies when
// dfsim itself is killed.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "study/measuring/perf_counters.h"

namespace dfsim::inline study {

struct CommandCopy {
  std::vector<std::string> arguments;    // arguments[0] is searched on PATH
  std::vector<std::string> environment;  // "NAME=VALUE" set, "NAME" removed; the rest is ours
  std::vector<int> cpus;                 // that it may use; empty: all that dfsim may use
};

struct CommandRun {
  double wall_s = 0;  // from the first start to the last end
  double cpu_s = 0;   // user and system, of all copies and their children
  CounterSums counters;
  std::string no_counters;           // why one is missing; "" when none is
  std::vector<std::string> outputs;  // per copy: the last megabyte of stdout and stderr together
  // What went wrong with the first copy that did not end well: "ended with code 3: LAST LINE",
  // "was ended by signal 11", "ran for more than 60 s". "" when all ended well.
  std::string failure;
};

// Every copy has an empty stdin. Runs for `limit_s` at most. At least one copy, at most
// kMostCopies. Errors: kNotFound without such a program; kInvalidInput for more copies; kFailed
// when the system starts no more processes.
inline constexpr size_t kMostCopies = 512;
StatusOr<CommandRun> run_copies(const std::vector<CommandCopy>& copies, double limit_s);

// Kills the copies that run now, with all that they started. Safe in a signal handler.
void kill_copies() noexcept;

}  // namespace dfsim::inline study
