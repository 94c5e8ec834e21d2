// Gantt charts of simulated runs, and the performance profile of many, as text and SVG.
#pragma once

#include <string>
#include <vector>

#include "report/predictions/comparison_views.h"

namespace dfsim::inline report {

// One line per device within `width` columns (at least 40), a scale below. Neighbouring tasks
// alternate between '#' and '='; names are written into tasks that are wide enough. At most 64
// devices are drawn, the rest is counted. O(tasks + devices * width).
std::string gantt_text(const Comparison& comparison, const PolicyOutcome& outcome,
                       const ExecGraph& graph, const TimeFormat& format, size_t width);

// Bars of all makespans above a Gantt chart of the best, or, when `all`, of every policy whose
// tasks were kept, on one scale. Tasks under a third of a pixel are merged with their neighbours.
// Self-contained; tooltips name tasks.
std::string comparison_svg(const Comparison& comparison, const ExecGraph& graph,
                           const TimeFormat& format, bool all = false);

// Performance profile (Dolan, More 2002, doi:10.1007/s101070100263): for each policy the share of
// problems on which it is within a factor of the best, over that factor.
std::string profile_svg(const std::vector<PolicySummary>& summary, size_t instances);

}  // namespace dfsim::inline report
