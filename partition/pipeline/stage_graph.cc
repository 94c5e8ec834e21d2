#include "partition/pipeline/stage_graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace dfsim::inline partition {

Status check_stage_graph(const StageGraph& graph, const StageLimits& limits) {
  const size_t n = graph.nodes.size();
  if (n == 0 || limits.devices == 0) {
    return invalid_input("stages: no nodes or no device to put them on");
  }
  for (const auto& [from, to] : graph.edges) {
    if (from >= to || to >= n) {
      return invalid_input(fmt::format(
          "stages: edge {} -> {} does not ascend, or leads out of {} nodes", from, to, n));
    }
  }
  for (const StageResult& result : graph.results) {
    const bool inside =
        result.source < n && std::all_of(result.readers.begin(), result.readers.end(),
                                         [&](uint32_t reader) { return reader < n; });
    if (!inside) {
      return invalid_input(
          fmt::format("stages: a result of node {} leads out of {} nodes", result.source, n));
    }
  }
  return ok_status();
}

}  // namespace dfsim::inline partition
