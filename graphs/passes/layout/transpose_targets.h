// Which tensors lead to a Transpose further down the graph: where move_transposes (transposes.cc)
// may expect that a Transpose in front of them meets another.
#pragma once

#include <unordered_map>
#include <vector>

#include "graphs/passes/editable_graph.h"
#include "graphs/passes/layout/permutation.h"

namespace dfsim::inline graphs {

class TransposeTargets {
 public:
  // `graph` must outlive this.
  explicit TransposeTargets(const EditableGraph& graph) : graph_(graph) {}

  // Looks at all operators; `order` has producers first. O(operators x Transposes they lead to).
  void find(const std::vector<OpId>& order);
  // A Transpose `perm` that moves there meets another: any, on the way of the one operator that
  // reads the tensor, or one that cancels it.
  bool leads(TensorId id, const Permutation& perm) const;
  // `to` takes the place of `from`.
  void copy(TensorId from, TensorId to);

 private:
  const EditableGraph& graph_;
  std::unordered_map<TensorId, std::vector<Permutation>> perms_;  // of the Transposes, each once
};

}  // namespace dfsim::inline graphs
