// Views of rooflines: text and JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/roofline/trajectory.h"

namespace dfsim::inline report {

// `top` rows of the table of operators; 80 columns.
std::string roofline_text(const RooflineReport& roofline, size_t top);

inline constexpr std::string_view kRooflineSchema = "dfsim.roofline/1";
std::string roofline_json(const std::vector<RooflineReport>& rooflines, std::string_view swept,
                          const std::vector<Trajectory>& lines);

}  // namespace dfsim::inline report
