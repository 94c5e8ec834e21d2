// Operators that plain operands do not exercise: attributes and operands of their own for
// op_rows_test.cc. The values are the smallest that make every part of a rule count.
#pragma once

#include <map>
#include <string>

#include "tests/ops/op_case.h"

namespace dfsim {

// By "domain::Type", or "Type" in the standard domain. Small enough to count by hand.
const std::map<std::string, OpCase>& own_op_cases();

}  // namespace dfsim
