// Explanations that studies share: which machine, runtime and cost models a study works with.
#pragma once

#include <string_view>

#include "hardware/platform.h"
#include "study/progress.h"

namespace dfsim::inline study {

// Reports through `progress` the files of the machine and its runtime, and for each kind of device
// the cost model that it names; `used` is the one that answers (CostModel::name()). Nothing when
// `progress` has no listener. O(devices).
void explain_machine(const Platform& platform, std::string_view used, const Progress& progress);

}  // namespace dfsim::inline study
