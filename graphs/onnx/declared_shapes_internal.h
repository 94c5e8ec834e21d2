// Shapes that a file declares for the tensors of its main graph. Internal to graphs/onnx.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "graphs/ir/graph_builder.h"
#include "graphs/ir/import.h"

namespace dfsim::inline graphs {

// The last resort of shape inference: what exporters wrote next to the nodes.
class DeclaredShapes {
 public:
  // `graph` and `dims` must outlive this object; `dims` are the numbers of its symbols.
  DeclaredShapes(const onnx::GraphProto& graph, const std::vector<BoundDim>& dims)
      : graph_(graph), dims_(dims) {}

  // Gives outputs of `op` that have no static shape the declared one, where that is static.
  void apply(GraphBuilder& builder, OpId op);

  // All declared shapes, sorted by tensor. O(n log n).
  std::vector<DeclaredAxes> axes();

  // Whether --dim may give `name` although no input uses it: a symbol in the declared shape of
  // another tensor, or "TENSOR[AXIS]" of a tensor that is not an input. O(declared shapes).
  bool is_inner(const GraphBuilder& builder, const std::string& name);

  // The names by which --dim gives the unknown extents of `op`'s outputs. O(axes).
  std::vector<std::string> names_of_open_extents(const GraphBuilder& builder, OpId op);

  // Writes the extents given for inner dimensions over those of `op`'s outputs that are unknown or
  // upper bounds.
  void apply_given(GraphBuilder& builder, OpId op);

  // An extent given for an inner dimension that changed nothing contradicts the model, or names a
  // tensor whose rank is unknown.
  Status check_given() const;

 private:
  struct Given {
    std::string name;
    int64_t extent = 0;
    bool used = false;
    int64_t found = -1;  // the model's own extent, where that is exact
  };

  void index();
  void index_names();
  Given* find_given(const GraphBuilder& builder, const Tensor& tensor, const Shape& declared,
                    int axis);
  Shape with_numbers(const GraphBuilder& builder, const Shape& shape) const;

  const onnx::GraphProto& graph_;
  const std::vector<BoundDim>& dims_;
  bool indexed_ = false;
  bool names_indexed_ = false;
  std::vector<std::string> inner_;  // what is_inner() affirmed
  std::vector<Given> given_;        // the same with numbers
  std::unordered_map<std::string, const onnx::ValueInfoProto*> by_name_;
  std::unordered_map<std::string, int64_t> extents_;
};

}  // namespace dfsim::inline graphs
