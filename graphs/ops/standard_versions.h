// Which operators ONNX's standard domains have, and since which opsets they have changed.
#pragma once

#include <span>
#include <string_view>

namespace dfsim::inline graphs {

struct StandardOp {
  std::string_view domain;  // "" is ai.onnx
  std::string_view op_type;
  std::string_view versions;  // opsets, ascending: "1, 6, 13"
};

// Sorted by domain and name.
std::span<const StandardOp> standard_ops();
// "" for an operator that is in none of them. O(log n).
std::string_view standard_versions(std::string_view domain, std::string_view op_type);

}  // namespace dfsim::inline graphs
