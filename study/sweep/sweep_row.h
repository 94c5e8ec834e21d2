// A row of a sweep's table: the figures of one point, or why there are none.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"
#include "study/chain/latency_interval.h"

namespace dfsim::inline study {

// The figures of `dfsim predict` for one point, as far as a table of points has it (see
// Prediction).
struct SweepFigures {
  TimeNs latency_ns = 0;
  LatencyInterval interval;  // 80 %
  double throughput_per_s = 0;
  int64_t batch = 1;
  Bytes peak_memory_bytes = 0;
  Bytes memory_bytes = 0;  // what the device has; 0 = not known
  Bytes weight_bytes = 0;
  int64_t parameters = 0;
  int64_t macs = 0;
  int64_t flops = 0;
  double achieved_flops_per_s = 0;
  TimeNs device_busy_ns = 0;
  TimeNs host_busy_ns = 0;
  uint64_t tasks = 0;
  uint64_t unresolved_ops = 0;     // whose work is not known: the latency is a lower limit
  double bound_only_fraction = 0;  // of the device time: operators that no model knows
};

struct SweepRow {
  SweepFigures figures;
  std::string error;    // why there are no figures; "" = there are
  std::string runtime;  // that executed, by name
};

// Whether the work of every operator is known. Without that the latency is only a lower limit, its
// interval has no upper end, and the throughput is an upper limit.
inline bool is_complete(const SweepFigures& figures) { return figures.unresolved_ops == 0; }

// True when the latency is a lower limit rather than an estimate: work of some operators is not
// known, or most of the time is the speed-of-light bound.
bool is_limit(const SweepFigures& figures);
// The point needs more memory than its device has.
bool is_too_large(const SweepFigures& figures);

}  // namespace dfsim::inline study
