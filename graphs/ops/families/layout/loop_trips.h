// A loop followed trip by trip, with the values that its state has.
#pragma once

#include <optional>
#include <vector>

#include "graphs/ops/families/layout/subgraph.h"

namespace dfsim::inline graphs {

// The known part of one tensor or list that goes from trip to trip.
struct LoopValue {
  Tensor tensor;
  std::optional<ConstValue> value;
  std::shared_ptr<const ListElements> elements;
};

// A Loop's `carried` operands before its first trip.
std::vector<LoopValue> loop_state(const InferContext& context, size_t carried);
// Infers the body as that trip sees it (from 0). Error: the trip contradicts itself.
StatusOr<InferredBody> run_trip(const InferContext& context, int64_t trip,
                                const std::vector<LoopValue>& state);
std::vector<LoopValue> state_after(const InferredBody& body, size_t carried);

struct FollowedLoop {
  int64_t trips = 0;
  std::vector<LoopValue> carried;                 // after the last trip
  std::vector<std::vector<LoopValue>> collected;  // per scan output, what each trip returned
  std::optional<InferredBody> middle;             // the body as the trip in the middle saw it
};

// Follows a Loop that starts with known values or lists, as long as its limit and condition tell
// whether another trip comes. std::nullopt: they do not, a trip contradicts itself, nothing would
// be gained, or the loop is too long (its trips times its operators exceed a few thousand).
std::optional<FollowedLoop> follow_loop(const InferContext& context, size_t carried);

}  // namespace dfsim::inline graphs
