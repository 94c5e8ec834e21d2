// Marks of extents inside of a loop's body that only the number of the trip was thought to decide.
#pragma once

#include "base/status.h"
#include "graphs/ops/families/layout/subgraph.h"

namespace dfsim::inline graphs {

// A body that knows the number of its trip marks all that the number reaches as dependent on
// data. Takes the marks back where an extent is the same in the first, this and the last trip and
// has no other reason to be a bound: a slice from trip to trip + 1 has one row in each. `first` and
// `last` are the body as these trips see it, with the number as an exact value.
Status clear_marks_of_trips(const InferredBody& first, const InferredBody& last,
                            InferredBody* body);

}  // namespace dfsim::inline graphs
