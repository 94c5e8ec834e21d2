// Makes surfaces of measured kernels and finds out how well they answer for anchors they never saw.
//
// Held-out errors are grouped: 15 % of a category's anchors (weights' n and k, heads, expert
// layers) are left out with all their sizes, predicted from the rest, and their errors reported;
// the 80 % interval comes from one half of those anchors, its coverage from the other. The surface
// that is returned was made of all anchors. Deterministic.
#pragma once

#include <vector>

#include "base/status.h"
#include "serving/kernels/kernel_surface.h"
#include "serving/kernels/kernel_tables.h"

namespace dfsim::inline serving {

// One surface per kind among `samples`, in the order of KernelKind. Repeats of a kernel count once,
// with the geometric mean of their times. O(anchors^2 * grid) per category.
std::vector<KernelSurface> train_surfaces(const std::vector<KernelSample>& samples,
                                          const KernelGpu& gpu);

}  // namespace dfsim::inline serving
