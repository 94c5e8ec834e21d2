#include "graphs/ir/op_class.h"

#include <algorithm>
#include <array>

namespace dfsim::inline graphs {
namespace {

constexpr std::array<std::string_view, kOpClassCount> kNames = {
    "conv", "matmul",        "attention",  "norm", "softmax",   "elementwise", "reduce",
    "pool", "data_movement", "gather",     "rnn",  "quantize",  "sort",        "control_flow",
    "view", "constant",      "collective", "copy", "optimizer", "opaque"};

}  // namespace

std::string_view op_class_name(OpClass op_class) { return kNames[static_cast<size_t>(op_class)]; }

OpClass op_class_from_name(std::string_view name, bool* found) {
  const auto* const it = std::find(kNames.begin(), kNames.end(), name);
  *found = it != kNames.end();
  return *found ? static_cast<OpClass>(it - kNames.begin()) : OpClass::kOpaque;
}

}  // namespace dfsim::inline graphs
