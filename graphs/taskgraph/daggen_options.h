// DaggenOptions: the shape of layered random graphs.
#pragma once

#include <cstddef>

namespace dfsim::inline graphs {

// Parameters of the shape "daggen", with the meaning that daggen gives them
// (https://github.com/frs69wq/daggen).
struct DaggenOptions {
  double fat = 0.5;         // layers have tasks^fat tasks on average: 0 = a chain, 1 = one layer
  double density = 0.5;     // share of the layer above that a task may have as parents
  double regularity = 0.9;  // layers are at most 1 - regularity larger or smaller than that
  size_t jump = 1;          // parents are up to so many layers above
};

}  // namespace dfsim::inline graphs
