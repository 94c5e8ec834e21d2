// Views of measured collectives: text and JSON.
#pragma once

#include <string>

#include "study/training/collective_evaluation.h"

namespace dfsim::inline report {

std::string collective_evaluation_text(const CollectiveEvaluation& evaluation);
std::string collective_evaluation_json(const CollectiveEvaluation& evaluation);

}  // namespace dfsim::inline report
