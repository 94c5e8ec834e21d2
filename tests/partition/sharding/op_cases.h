// One small example of every operator that has a factor rule, variants included.
#pragma once

#include <vector>

#include "tests/ops/op_case.h"

namespace dfsim {

// Extents are multiples of 4 where a split can be tested, so that 2, 4 and 2 x 2 devices fit.
std::vector<OpCase> op_cases();
// Parts of it: products and attention, images.
std::vector<OpCase> runtime_product_cases();
std::vector<OpCase> runtime_image_cases();

}  // namespace dfsim
