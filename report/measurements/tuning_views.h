// Views of measured settings: text and JSON.
#pragma once

#include <string>

#include "study/tuning/tune.h"

namespace dfsim::inline report {

// `model` is its name.
std::string tuning_text(const TuneResult& result, const std::string& model);
std::string tuning_json(const TuneResult& result, const std::string& model);

}  // namespace dfsim::inline report
