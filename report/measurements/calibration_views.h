// Views of calibrations: text and JSON.
#pragma once

#include <string>

#include "study/measuring/calibrate.h"

namespace dfsim::inline report {

std::string calibration_text(const Calibration& calibration);
std::string calibration_json(const Calibration& calibration);

}  // namespace dfsim::inline report
