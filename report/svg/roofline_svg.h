// Drawings of rooflines.
#pragma once

#include <string>
#include <vector>

#include "study/roofline/trajectory.h"

namespace dfsim::inline report {

// Both axes logarithmic; a point's area is its share of the time.
std::string roofline_svg(const RooflineReport& roofline, const std::vector<Trajectory>& lines);
// The last roofline of a sweep, with the compute roofs of all its points.
std::string roofline_svg(const std::vector<RooflineReport>& rooflines,
                         const std::vector<Trajectory>& lines);

}  // namespace dfsim::inline report
