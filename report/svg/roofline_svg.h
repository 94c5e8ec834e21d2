// Drawings of rooflines.
#pragma once

#include <string>
#include <vector>

#include "study/roofline/roofline.h"

namespace dfsim::inline report {

// Both axes logarithmic; a point's area is its share of the time.
std::string roofline_svg(const RooflineReport& roofline, const std::vector<Trajectory>& lines);

}  // namespace dfsim::inline report
