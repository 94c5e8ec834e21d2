// Lookups in tables whose rows lie on several devices (Megatron's vocabulary split).
//
// Indices count along a factor, of which each shard has a run: they become those of its own run,
// and what belongs to other rows is made zero, so that parts add up.
#pragma once

#include <optional>

#include "graphs/ops/factors/factors.h"

namespace dfsim::inline partition {

struct Lookup {
  int factor = -1;        // the rows
  size_t indices = 1;     // the input
  int64_t extent = 0;     // rows of the whole
  int dim = 0;            // where the dimensions of the indices begin in what is made zero:
  int masked_input = -1;  // this input, or result 0 when negative
};

// What the op looks up, if it is a Gather or its gradient whose rows may be split; `map` is its
// own.
std::optional<Lookup> find_lookup(const Graph& graph, OpId id, const FactorMap& map);

}  // namespace dfsim::inline partition
