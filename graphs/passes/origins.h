// Origins: which operators of the model a fused one stands for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

// An operator of the model that another one stands for.
struct OpOrigin {
  std::string op_type;
  std::string name;
};

// What an operator that a pass made stands for, in the order of the model; itself when it is one of
// the model. Kept in attributes of its own, kOriginTypes and kOriginNames.
std::vector<OpOrigin> origins_of(const Op& op);
void set_origins(Op* op, const std::vector<OpOrigin>& origins);
bool has_origins(const Op& op);

inline constexpr std::string_view kOriginTypes = "dfsim.origin_types";
inline constexpr std::string_view kOriginNames = "dfsim.origin_names";

}  // namespace dfsim::inline graphs
