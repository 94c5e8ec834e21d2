// Views of trained cost models: text and JSON.
#pragma once

#include <string>

#include "study/training/train.h"

namespace dfsim::inline report {

std::string training_text(const TrainResult& result);
std::string training_json(const TrainResult& result);

// The first few rows left out, a line each with file, row and reason; "" when there are none.
std::string first_drops(const DropReport& drops);

}  // namespace dfsim::inline report
