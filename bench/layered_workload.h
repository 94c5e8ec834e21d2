// The layered random graph (E = 2.6 N) on four devices joined pairwise that simulators are timed
// on. Tasks are placed at random, so three of four edges cross a link: harder on a simulator than a
// good plan.
#pragma once

#include <cstddef>

#include "graphs/taskgraph/task_graph.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "schedulers/scheduler.h"

namespace dfsim::bench {

inline constexpr size_t kDevices = 4;

struct LayeredWorkload {
  TaskGraph task_graph;
  CostTable costs;
  Platform platform;
  Schedule schedule;
};

// Links of 1 byte/ns, so that an edge's delay is its bytes; no latency.
LayeredWorkload layered_workload(size_t tasks, double ccr, LinkSharing sharing);

}  // namespace dfsim::bench
