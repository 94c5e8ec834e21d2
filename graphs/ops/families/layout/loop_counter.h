// Trips of a loop whose condition counts, as "while i < n" does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "graphs/ops/families/layout/subgraph.h"

namespace dfsim::inline graphs {

// How often a Loop runs whose condition compares two whole numbers of which one or both change by
// the same amount in each trip. Conditions may be joined by And: then the first to fail ends the
// loop, and what cannot be counted is taken to hold. std::nullopt: nothing counts, or more than
// kMaxExtent trips. Infers the body three times.
std::optional<int64_t> counted_trips(const InferContext& context, size_t carried);

}  // namespace dfsim::inline graphs
