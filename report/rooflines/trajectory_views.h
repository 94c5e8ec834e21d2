// Views of trajectories, and the parts that rooflines share with them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json/json_tree.h"
#include "study/roofline/trajectory.h"

namespace dfsim::inline report {

std::string trajectories_text(std::string_view swept, const std::vector<Trajectory>& lines);

JsonTree trajectories_json(const std::vector<Trajectory>& lines);
JsonTree trajectory_steps_json(const Trajectory& line);

// FLOP per byte, and FLOP/s or, of an operator that only moves data, its bytes per second.
std::string intensity_text(const RoofPoint& point);
std::string rate_text(const RoofPoint& point);
JsonTree point_json(const RoofPoint& point);
JsonTree points_json(const std::vector<RoofPoint>& points);

}  // namespace dfsim::inline report
