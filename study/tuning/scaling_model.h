// How the time of a program changes with cores: Amdahl's serial part, arithmetic that cores share,
// memory traffic until the bandwidth is saturated, and the cost to start and join threads.
//
// Units: all parts are shares of the time on one core, so that scaled_time() of one thread and one
//   process is serial + compute + memory (+ nothing for the fork).
// Papers: Amdahl 1967, doi:10.1145/1465482.1465560; bandwidth saturation as in Stengel and others
//   2015 (execution-cache-memory model), doi:10.1145/2751205.2751240.
#pragma once

#include <vector>

#include "base/status.h"

namespace dfsim::inline study {

struct ScalingModel {
  double serial = 0.05;   // no second core shortens it
  double compute = 0.55;  // divides by the threads
  double memory = 0.4;    // divides by the threads until `saturation` cores share the bandwidth
  double saturation = 8;  // cores whose traffic fills the memory's bandwidth
  double fork = 0.01;     // per doubling of the threads
};

// Time of one process with `threads` threads while `processes` of them run at once, over the time
// of one thread alone. Threads and processes are 1 at least.
double scaled_time(const ScalingModel& model, int threads, int processes = 1);

}  // namespace dfsim::inline study
