// The engine's entrance: checks an input, and runs a plan or policies on it. Internal to sim/; use
// simulator.h, requests.h or repeat.h.
#pragma once

#include <vector>

#include "base/status.h"
#include "schedulers/scheduler.h"
#include "sim/engine/run_mode.h"
#include "sim/listener.h"
#include "sim/request_types.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

struct EngineResult {
  SimResult run;
  std::vector<RequestRecord> requests;  // when each came and was done
};

// What an engine runs on. References must outlive the run; `listener` may be null.
struct EngineInput {
  const SimInput& input;
  const SimOptions& options;
  const RunMode& mode;
  SimListener* listener = nullptr;
};

// Errors: those of simulate().
StatusOr<EngineResult> run_engine(const EngineInput& engine, const Schedule& schedule);
StatusOr<EngineResult> run_engine(const EngineInput& engine, OnlineScheduler& policy);
// A policy of its own for each request in flight.
StatusOr<EngineResult> run_engine(const EngineInput& engine, const MakePolicy& make_policy);

}  // namespace dfsim::inline sim
