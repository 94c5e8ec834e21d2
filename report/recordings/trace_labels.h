// Names of recorded work as people read them. JSON has the whole names.
#pragma once

#include <string>
#include <string_view>

namespace dfsim::inline report {

// A kernel without what tells it from no other: its result type, its parameters, and the namespaces
// of ATen. "at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 2>(float*, int)" is
// "CatArrayBatchedCopy<float, 2>". At most 120 characters, the middle cut out. O(text).
std::string kernel_label(std::string_view name);

// Recorded shapes and types, [[5, 128], [128], []] ["float", "float", "Scalar"], as
// "5x128 128 float": types once, those of scalars left out. Other text as it is. At most 80
// characters, the middle cut out. O(text).
std::string shapes_label(std::string_view detail);

}  // namespace dfsim::inline report
