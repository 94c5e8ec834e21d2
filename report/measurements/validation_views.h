// Views of validations: text and JSON.
#pragma once

#include <string>
#include <vector>

#include "study/validation/validation.h"

namespace dfsim::inline report {

// Both print the runs in their order. `cost_model` names what predicted; `fits` is empty where
// nothing was fitted.
std::string validation_text(const std::vector<ValidatedRun>& runs, const std::string& cost_model,
                            const std::vector<IntervalFit>& fits = {});
std::string validation_json(const std::vector<ValidatedRun>& runs, const std::string& cost_model,
                            const std::vector<IntervalFit>& fits = {});

}  // namespace dfsim::inline report
