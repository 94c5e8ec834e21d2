// Sweep: many predictions at once. Points that have something in common share it: a model file is
// imported once for each batch and set of dimensions, rewritten once for each runtime, and each
// distinct operator is costed once for each kind of device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "study/chain/latency_interval.h"
#include "study/progress.h"
#include "study/sweep/sweep_options.h"

namespace dfsim::inline study {

// What `dfsim predict` says about one point, as far as a table of points has it (see Prediction).
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

struct SweepResult {
  std::vector<SweepPoint> points;  // in order of the plan
  std::vector<SweepRow> rows;      // of each point
  size_t kept = 0;                 // taken from the journal

  size_t failed() const;
};

// True when the latency is a lower limit rather than an estimate: work of some operators is not
// known, or most of the time is the speed-of-light bound.
bool is_limit(const SweepFigures& figures);

// Predicts every point. A point that fails is a row with its error. Each row equals predict() of
// its point, whatever the number of threads and whatever the journal held. Errors: those of
// plan_sweep(); an unknown or malformed machine, runtime, policy or cost model; the journal's;
// Progress's, which leaves finished points in the journal. Memory: the rows, and for each thread
// the imported and rewritten graphs of one model.
StatusOr<SweepResult> sweep(const SweepOptions& options, const Progress& progress = {});

// Removes the journal of a sweep whose table has been written.
Status remove_journal(const SweepOptions& options);

}  // namespace dfsim::inline study
