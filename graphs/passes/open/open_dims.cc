// The import says which axes of inputs are open; the follower carries them through the graph.
#include "graphs/passes/open/open_dims.h"

#include <utility>

#include "graphs/passes/open/follower.h"

namespace dfsim::inline graphs {

OpenDims::OpenDims(const Graph& graph, const std::vector<OpenAxis>& axes) {
  if (axes.empty()) {
    return;
  }
  open::Follower follower(graph);
  std::unordered_map<std::string, Extent> symbols;
  for (const OpenAxis& axis : axes) {
    const auto symbol = static_cast<Extent>(symbols.size() + 1);
    const Extent own = symbols.emplace(axis.name, symbol).first->second;
    for (const TensorId input : graph.inputs()) {
      if (graph.tensor(input).name == axis.input) {
        follower.open(input, axis.axis, own);
      }
    }
  }
  follower.run();
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    const open::Facts& facts = follower.facts(TensorId(t));
    if (!facts.ranked || !open::all_known(facts.axes)) {
      axes_.emplace(graph.tensor(TensorId(t)).name, facts.ranked ? facts.axes : open::Extents());
    }
  }
  constant_ops_ = std::move(follower.constant_ops);
  constant_reshapes_ = std::move(follower.constant_reshapes);
}

const std::vector<Extent>* OpenDims::axes(const std::string& tensor) const {
  const auto it = axes_.find(tensor);
  return it != axes_.end() ? &it->second : nullptr;
}

}  // namespace dfsim::inline graphs
