// Resharding: the collectives and slices that turn one sharding of a tensor into another.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "partition/sharding/sharding.h"

namespace dfsim::inline partition {

enum class ReshardKind : uint8_t {
  kReduceScatter,  // finishes a partial tensor, each device keeping its run of `dim`
  kAllReduce,      // finishes it everywhere
  kAllToAll,       // moves the cut from `gather_dim` to `dim`
  kAllGather,      // joins `dim`
  kSlice,          // cuts `dim`: local
};
// The operator of domain dfsim that does it.
std::string_view reshard_op_type(ReshardKind kind);

struct ReshardStep {
  ReshardKind kind = ReshardKind::kSlice;
  AxisSet axes = 0;
  int dim = 0;
  int gather_dim = 0;
  Reduction reduction = Reduction::kNone;
};

// Steps that lead from `from` to `to`, which is not partial. Cheap ones first: partial tensors are
// reduce-scattered where `to` wants a cut along their axes; cuts move by all-to-all where a
// dimension gives up just what another one takes; slices come before gathers where they can.
std::vector<ReshardStep> plan_reshard(const TensorSharding& from, const TensorSharding& to);

// What a tensor of that sharding is after the step.
TensorSharding after_step(const TensorSharding& sharding, const ReshardStep& step);

}  // namespace dfsim::inline partition
