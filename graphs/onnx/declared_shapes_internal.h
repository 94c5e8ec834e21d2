// Shapes that a file declares for the tensors of its main graph. Internal to graphs/onnx.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "graphs/ir/graph_builder.h"
#include "graphs/ir/import.h"

namespace dfsim::inline graphs {

// The last resort of shape inference: what exporters wrote beside the nodes.
class DeclaredShapes {
 public:
  // `graph` and `dims` must outlive this object; `dims` are the numbers of its symbols.
  DeclaredShapes(const onnx::GraphProto& graph, const std::vector<BoundDim>& dims)
      : graph_(graph), dims_(dims) {}

  // Gives outputs of `op` that have no static shape the declared one, where that is static.
  void apply(GraphBuilder& builder, OpId op);

 private:
  void index();
  Shape with_numbers(const GraphBuilder& builder, const Shape& shape) const;

  const onnx::GraphProto& graph_;
  const std::vector<BoundDim>& dims_;
  bool indexed_ = false;
  std::unordered_map<std::string, const onnx::ValueInfoProto*> by_name_;
  std::unordered_map<std::string, int64_t> extents_;
};

}  // namespace dfsim::inline graphs
