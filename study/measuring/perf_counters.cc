#include "study/measuring/perf_counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>

namespace dfsim::inline study {
namespace {

struct CounterKind {
  const char* name;
  uint64_t event;
};

constexpr std::array kCounterKinds = {CounterKind{"instructions", PERF_COUNT_HW_INSTRUCTIONS},
                                      CounterKind{"cycles", PERF_COUNT_HW_CPU_CYCLES},
                                      CounterKind{"cache misses", PERF_COUNT_HW_CACHE_MISSES}};

int open_counter(uint64_t event, pid_t process) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = event;
  attributes.disabled = 1;
  attributes.enable_on_exec = 1;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  // Counters that share a register run in turns; the times say which part of the run they saw.
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, process, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string refusal(int error) {
  if (error == EACCES || error == EPERM) {
    std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
    std::string level;
    std::getline(file, level);
    return fmt::format("the kernel does not permit it (kernel.perf_event_paranoid is {})",
                       level.empty() ? "unknown" : level);
  }
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV) {
    return "this machine gives no hardware counters, as virtual machines often do not";
  }
  return std::strerror(error);
}

std::optional<double> read_counter(int file) {
  std::array<uint64_t, 3> values = {};  // count, time enabled, time running
  if (file < 0 || ::read(file, values.data(), sizeof values) != sizeof values || values[2] == 0) {
    return std::nullopt;
  }
  return static_cast<double>(values[0]) * static_cast<double>(values[1]) /
         static_cast<double>(values[2]);
}

}  // namespace

PerfCounters::PerfCounters(pid_t process) {
  for (const CounterKind& kind : kCounterKinds) {
    files_.push_back(open_counter(kind.event, process));
    if (files_.back() < 0 && why_not_.empty()) {
      why_not_ = fmt::format("no {}: {}", kind.name, refusal(errno));
    }
  }
}

PerfCounters::PerfCounters(PerfCounters&& other) noexcept
    : files_(std::exchange(other.files_, {})), why_not_(std::move(other.why_not_)) {}

PerfCounters::~PerfCounters() {
  for (const int file : files_) {
    if (file >= 0) {
      ::close(file);
    }
  }
}

CounterSums PerfCounters::read() const {
  return {read_counter(files_[0]), read_counter(files_[1]), read_counter(files_[2])};
}

}  // namespace dfsim::inline study
