// The import says which axes of inputs are open; the follower carries them through the graph.
#include "graphs/passes/open/open_dims.h"

#include <algorithm>
#include <utility>

#include "graphs/passes/open/follower.h"

namespace dfsim::inline graphs {

namespace {

// Numbers for names.
class Symbols {
 public:
  Extent of(const std::string& name) {
    return numbers_.emplace(name, static_cast<Extent>(numbers_.size() + 1)).first->second;
  }

 private:
  std::unordered_map<std::string, Extent> numbers_;
};

// By tensor what the file declares.
std::vector<open::Extents> declared_extents(const Graph& graph,
                                            const std::vector<DeclaredAxes>& declared,
                                            Symbols& symbols) {
  std::unordered_map<std::string_view, const DeclaredAxes*> by_name;
  for (const DeclaredAxes& tensor : declared) {
    by_name.emplace(tensor.tensor, &tensor);
  }
  std::vector<open::Extents> result(declared.empty() ? 0 : graph.tensor_count());
  for (size_t t = 0; t < result.size(); ++t) {
    const auto it = by_name.find(graph.tensor(TensorId(t)).name);
    if (it == by_name.end()) {
      continue;
    }
    for (const std::optional<std::string>& axis : it->second->axes) {
      result[t].push_back(!axis           ? kUnknownExtent
                          : axis->empty() ? kKnownExtent
                                          : symbols.of(*axis));
    }
  }
  return result;
}

}  // namespace

OpenDims::OpenDims(const Graph& graph, const std::vector<OpenAxis>& axes,
                   const std::vector<DeclaredAxes>& declared) {
  if (axes.empty()) {
    return;
  }
  open::Follower follower(graph);
  Symbols symbols;
  for (const OpenAxis& axis : axes) {
    const Extent own = symbols.of(axis.name);
    for (const TensorId input : graph.inputs()) {
      if (graph.tensor(input).name == axis.input) {
        follower.open(input, axis.axis, own);
      }
    }
  }
  follower.declare(declared_extents(graph, declared, symbols));
  follower.run();
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    const open::Facts& facts = follower.facts(TensorId(t));
    if (!facts.ranked || !open::all_known(facts.axes)) {
      axes_.emplace(graph.tensor(TensorId(t)).name, facts.ranked ? facts.axes : open::Extents());
    } else {
      sized_.insert(graph.tensor(TensorId(t)).name);
    }
  }
  constant_ops_ = std::move(follower.constant_ops);
  constant_reshapes_ = std::move(follower.constant_reshapes);
}

std::vector<bool> OpenDims::unsized(const Graph& rewritten) const {
  if (empty()) {
    return {};
  }
  std::vector<bool> result(rewritten.tensor_count(), false);
  for (const Op& op : rewritten.ops()) {
    const bool reads_unsized = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      return id.valid() && result[id.index()];
    });
    for (const TensorId output : op.outputs) {
      if (!output.valid()) {
        continue;
      }
      const std::string& name = rewritten.tensor(output).name;
      // Axes that have the same symbol are equal in every run.
      const std::vector<Extent>* const states = axes(name);
      result[output.index()] =
          states != nullptr
              ? states->empty() || std::count(states->begin(), states->end(), kUnknownExtent) > 0
              : reads_unsized && !sized_.contains(name);
    }
  }
  return result;
}

const std::vector<Extent>* OpenDims::axes(const std::string& tensor) const {
  const auto it = axes_.find(tensor);
  return it != axes_.end() ? &it->second : nullptr;
}

}  // namespace dfsim::inline graphs
