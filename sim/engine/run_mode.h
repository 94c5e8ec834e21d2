// RunMode: the requests and the noise of one engine run. The functions of simulator.h, requests.h
// and repeat.h set it; SimOptions holds everything that users choose directly.
#pragma once

#include <cstddef>
#include <vector>

#include "base/units.h"

namespace dfsim::inline sim {

// Requests and when they come; a single run is one request at 0.
struct RequestPlan {
  size_t requests = 1;
  size_t in_flight = 0;             // closed loop; 0 = the arrivals below
  std::vector<TimeNs> arrivals_ns;  // ascending, one per request; empty = closed loop or single run
};

// Standard-normal draws that change the costs.
struct CostNoise {
  std::vector<float> deviations;  // per task or per cost row; empty = the costs as they are
  bool per_row = false;
};

struct RunMode {
  RequestPlan requests;
  CostNoise noise;
};

}  // namespace dfsim::inline sim
