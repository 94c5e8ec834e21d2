// Which extents a runtime knows before the first run of a model with dynamic dimensions.
//
// Purpose: dfsim gives every dimension a number, a runtime that loads the file does not. ONNX
//   Runtime fuses less where it does not know a shape and computes shapes again in every run. This
//   follows the file's dynamic dimensions through the graph as ONNX's shape inference does.
// An axis is known, a symbol (the same extent as another axis of that symbol), or unknown.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/ir/import.h"
#include "graphs/passes/open/extent.h"

namespace dfsim::inline graphs {

class OpenDims {
 public:
  // Nothing is open.
  OpenDims() = default;
  // `axes` and `declared` are those of the import report. Where inference finds no extent, ONNX
  // Runtime believes the file. O(size of the graph).
  OpenDims(const Graph& graph, const std::vector<OpenAxis>& axes,
           const std::vector<DeclaredAxes>& declared = {});

  bool empty() const { return axes_.empty(); }
  // The states of the tensor's axes, by its name, which rewriting keeps; empty when not even their
  // number is known. nullptr: every extent is known.
  const std::vector<Extent>* axes(const std::string& tensor) const;
  // By tensor of a rewriting of the graph: its planner cannot tell whether the tensor has the size
  // of another one. A tensor that rewriting made is such a one when an operand of its operator is.
  // Empty: nothing is open. O(size of the graph).
  std::vector<bool> unsized(const Graph& rewritten) const;
  // Whether the operator (by id in the constructor's graph) computes the same in every run: it
  // reads constants only, or the shape of a tensor whose shape is known.
  bool is_constant(OpId id) const { return empty() || constant_ops_[id.index()]; }
  // Whether ONNX Runtime replaces the computed shape of this Reshape by a constant, with 0 and -1
  // for open axes.
  bool is_constant_reshape(OpId id) const { return !empty() && constant_reshapes_[id.index()]; }

 private:
  std::unordered_map<std::string, std::vector<Extent>>
      axes_;                               // tensors with an open axis; empty: no rank
  std::unordered_set<std::string> sized_;  // names of the other tensors
  std::vector<bool> constant_ops_;
  std::vector<bool> constant_reshapes_;
};

}  // namespace dfsim::inline graphs
