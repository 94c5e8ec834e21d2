// Operators of domain "tensorflow": those that have no counterpart in ONNX.
#pragma once

#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {

inline constexpr std::string_view kTensorFlow = "tensorflow";

// In GraphInfo::metadata of graphs that update their parameters: weights are no constants there.
inline constexpr std::string_view kTrainingKey = "dfsim.training";

}  // namespace dfsim::inline graphs
