// Extent: what a runtime knows of one axis, or of one element of a shape, before the first run.
#pragma once

#include <cstdint>

namespace dfsim::inline graphs {

// The state of an axis or of an element of a shape; a symbol is any number above 0.
using Extent = int32_t;
inline constexpr Extent kKnownExtent = 0;
inline constexpr Extent kUnknownExtent = -1;
// For elements of a shape only: not even shape inference carries the shape this far.
inline constexpr Extent kUncarriedExtent = -2;

}  // namespace dfsim::inline graphs
