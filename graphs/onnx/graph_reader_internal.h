// From GraphProto to GraphBuilder: initializers, inputs, nodes, subgraphs, functions. Internal to
// graphs/onnx.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_map>

#include "base/status.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/onnx/model_scope_internal.h"

namespace dfsim::inline graphs {

// Reads one graph into one builder. Constant nodes become constant tensors, calls of the model's
// own functions are replaced by the functions' nodes ("call/inner" names), subgraphs become Graphs
// in the attributes of their op, and what they read from around them becomes the op's last inputs.
// Shapes are not inferred here. Error (kInvalidInput): the graph contradicts itself; function calls
// that are recursive or expand to over a million nodes.
class GraphReader {
 public:
  // `scope` and `inlined_nodes` (a count over the whole model) must outlive the reader.
  GraphReader(const ModelScope& scope, const Opsets& opsets, size_t* inlined_nodes,
              GraphBuilder* builder)
      : scope_(scope), opsets_(&opsets), inlined_nodes_(inlined_nodes), builder_(*builder) {}

  // A model's main graph: whatever is read must be produced in it.
  Status read_main(const onnx::GraphProto& graph);

 private:
  // Names inside a function's body; nullptr in a plain graph, whose names are the builder's.
  struct Frame {
    std::string prefix;
    std::unordered_map<std::string, std::string> names;  // formal -> actual
    const onnx::NodeProto* call = nullptr;
    const Opsets* opsets = nullptr;
    int depth = 0;
  };

  Status check_calls(const onnx::GraphProto& graph) const;
  Status read(const onnx::GraphProto& graph);
  // A subgraph: what nothing in it produces is captured from around it.
  StatusOr<Graph> read_body(const onnx::GraphProto& graph);
  Status add_constant_tensor(const onnx::TensorProto& proto, const std::string& name);
  Status add_initializers(const onnx::GraphProto& graph);
  Status add_inputs(const onnx::GraphProto& graph);
  Status add_nodes(const onnx::GraphProto& graph);
  Status add_outputs(const onnx::GraphProto& graph);
  Status add_node(const onnx::NodeProto& node);
  Status add_subgraphs(const onnx::NodeProto& node, Op* op);
  Status inline_function(const onnx::NodeProto& node, const onnx::FunctionProto& function);
  Status check_producers() const;
  bool is_missing(TensorId id) const;
  std::string scoped_name(const std::string& name) const;

  const ModelScope& scope_;
  const Opsets* opsets_;
  size_t* inlined_nodes_;
  GraphBuilder& builder_;
  const Frame* frame_ = nullptr;
  size_t calls_ = 0;  // makes prefixes of unnamed calls unique
};

}  // namespace dfsim::inline graphs
