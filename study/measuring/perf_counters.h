// Hardware counters of another process and of all that it starts, through perf_event_open(2).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace dfsim::inline study {

struct CounterSums {
  std::optional<double> instructions;
  std::optional<double> cycles;
  std::optional<double> cache_misses;  // of the last level
};

// Opened before the process executes its program; reading adds what ended threads and children
// counted. A counter that the machine or the kernel does not give is left out.
class PerfCounters {
 public:
  // Counts of `process` from its next execve() on, in user mode.
  explicit PerfCounters(pid_t process);
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters(PerfCounters&& other) noexcept;
  PerfCounters& operator=(const PerfCounters&) = delete;
  PerfCounters& operator=(PerfCounters&&) = delete;
  ~PerfCounters();

  CounterSums read() const;
  // Why a counter is missing; "" when none is.
  const std::string& why_not() const { return why_not_; }

 private:
  std::vector<int> files_;  // in order of the fields of CounterSums; -1: not counted
  std::string why_not_;
};

}  // namespace dfsim::inline study
