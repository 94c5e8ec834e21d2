// Which subgraph of an operator of control flow runs, how often, and how large that is written out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

bool is_control_flow(const Op& op);

struct Runs {
  std::string_view body;  // the attribute
  int64_t trips = 0;
};

// None where the operator has to stay as it is: its trips are not known, or it is opset 8's Scan.
std::optional<Runs> runs_of(const Op& op);

// Operators that things become; bodies that are shared are looked at once.
class ExpandedSizes {
 public:
  // 1 for what stays as it is. Saturates far above any graph.
  double of(const Op& op);

 private:
  std::unordered_map<const Graph*, double> sizes_;
};

}  // namespace dfsim::inline graphs
