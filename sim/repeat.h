// Repetition: the same plan or policy many times with the noise of its costs, as a distribution.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "schedulers/scheduler.h"
#include "sim/simulator.h"

namespace dfsim::inline sim {

// Which tasks share a draw: every task has its own (run-to-run noise), or all tasks of a cost row
// share one (what the cost model does not know of an op is the same each time it runs).
enum class NoiseScope : uint8_t { kPerTask, kPerOp };

struct RepeatOptions {
  size_t runs = 100;
  NoiseScope scope = NoiseScope::kPerTask;
  uint64_t seed = 0;
  int threads = 1;  // the result does not depend on it
  // Hears of the number of finished runs, from one thread at a time. May be empty.
  std::function<void(size_t done)> on_finished = {};
};

struct RepeatResult {
  std::vector<TimeNs> makespans_ns;  // by run
  double mean_ns = 0;
  double standard_deviation_ns = 0;  // of the sample; 0 for one run
  TimeNs min_ns = 0;
  TimeNs p10_ns = 0;  // nearest rank
  TimeNs p50_ns = 0;
  TimeNs p90_ns = 0;
  TimeNs max_ns = 0;
};

// In each run a task's time is drawn from its cost's interval, low and high being the 10th and 90th
// percentile: a normal distribution with one side's width below the cost and the other's above, cut
// off at 0. Costs without an interval stay as they are.
// Errors: those of simulate(); kInvalidInput for no runs.
StatusOr<RepeatResult> simulate_repeatedly(const SimInput& input, const Schedule& schedule,
                                           const RepeatOptions& repeat,
                                           const SimOptions& options = {});

// The same under an online policy, which sees the costs as they are expected and the finishes as
// they come. `make_policy` makes one for each run, in any thread.
StatusOr<RepeatResult> simulate_repeatedly(const SimInput& input, const MakePolicy& make_policy,
                                           const RepeatOptions& repeat,
                                           const SimOptions& options = {});

}  // namespace dfsim::inline sim
