// The graph optimisation levels of ONNX Runtime, as passes of dfsim.
//
// Purpose: a runtime file lists what ONNX Runtime does with all its optimisations; a lower level is
// a
//   part of that list.
// Levels: 0 none, 1 basic, 2 extended, 3 all (GraphOptimizationLevel, with ORT_ENABLE_LAYOUT in 3).
#pragma once

#include "hardware/platform.h"

namespace dfsim::inline study {

constexpr int kOrtExtended = 2;  // leaves images as they are
constexpr int kOrtAll = 3;       // puts images into blocks of channels or their channels last

// Leaves out the passes above `level`. Below 1, constants are not folded either. Passes that stand
// for a missing kernel, such as Einsum's products, stay at every level. Stages stay apart.
void limit_ort_level(int level, RuntimeSpec* runtime);

}  // namespace dfsim::inline study
