// Operators of domain "tensorflow": those that have no counterpart in ONNX.
#pragma once

#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {

inline constexpr std::string_view kTensorFlow = "tensorflow";

// In GraphInfo::metadata of graphs that update their parameters: weights are not constants there.
inline constexpr std::string_view kTrainingKey = "dfsim.training";

// The importer has worked out the shapes: attribute "shape" is that of output 0, "dtype" its type
// where it is not input 0's, "at_most" says that the data may leave rows out. Output 1 has "shape1"
// and so on.
Status infer_given_shape(InferContext& context);

}  // namespace dfsim::inline graphs
