// Replay: a recorded run in the simulator, as it was, on other hardware, or changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "datasets/traces/trace.h"
#include "study/progress.h"
#include "study/replay/replay_report.h"

namespace dfsim::inline study {

struct ReplayOptions {
  std::string trace;
  std::string hardware;            // file or name to replay on; "" = as recorded
  std::string from;                // file or name of what was recorded on; "" = found by the trace
  std::string cost_model;          // of `hardware`: folder or name; "" = what its devices name
  std::string policy;              // places device work anew; "" = as recorded
  std::vector<std::string> scale;  // "kernel=0.5" (study/replay/replay.h)
  uint64_t seed = 1;               // of the draws behind the interval
};

struct Replay {
  ReplayReport report;
  Trace measured;
  Trace replayed;
};

// Errors: those of the trace, the hardware, the cost model and the policy; a rule that fits
// nothing; Progress's.
StatusOr<Replay> replay(const ReplayOptions& options, const Progress& progress = {});

}  // namespace dfsim::inline study
