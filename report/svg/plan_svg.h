// Drawings of partitioning plans.
#pragma once

#include <string>

#include "study/partitioning/partitioning.h"

namespace dfsim::inline report {

// Devices over time (compute, communication, gaps), and how the plan cuts weights.
std::string plan_svg(const PlanOutcome& outcome, const PlanRun& run, const Graph& graph);

}  // namespace dfsim::inline report
