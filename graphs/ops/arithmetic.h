// Arithmetic in another type than that of the operands: TF32, a mode of products of fp32 tensors.
#pragma once

#include <string_view>

namespace dfsim::inline graphs {

// "tf32" on an operator: op_work() counts what it multiplies as TF32 where its operands are fp32.
inline constexpr std::string_view kArithmeticAttribute = "dfsim.arithmetic";

}  // namespace dfsim::inline graphs
