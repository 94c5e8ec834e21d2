// Operators in place of a call of a function that ONNX defines by others. Internal to
// graphs/passes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

using BodyAttributes = std::vector<std::pair<std::string, AttrValue>>;

// Writes operators in place of `call`, under its name. Their results are as open as their operands.
// Nothing changes but for added tensors until finish(). Each call: O(operands).
class FunctionBody {
 public:
  FunctionBody(EditableGraph& graph, OpId call) : graph_(graph), id_(call), call_(graph.op(call)) {}

  const Op& call() const { return call_; }
  TensorId operand(size_t i) const { return call_.inputs[i]; }
  const Shape& shape(TensorId id) const { return graph_.shape(id); }
  DType dtype(TensorId id) const { return graph_.tensor(id).dtype; }

  // The result of an operator.
  TensorId add(std::string_view type, std::vector<TensorId> inputs, DType dtype, Shape shape,
               const BodyAttributes& attributes = {});
  // With the type and shape of the first operand.
  TensorId elementwise(std::string_view type, std::vector<TensorId> inputs);
  TensorId cast(TensorId id, DType to);
  TensorId reshape(TensorId id, const Shape& to);
  TensorId ints(const std::vector<int64_t>& values);
  TensorId number(double value, DType dtype = DType::kFloat32);

  // The operator that makes what the call made; the call is gone afterwards.
  void finish(std::string_view type, std::vector<TensorId> inputs,
              const BodyAttributes& attributes = {});

 private:
  void push(std::string_view type, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
            const BodyAttributes& attributes);

  EditableGraph& graph_;
  OpId id_;
  Op call_;
  std::vector<Op> ops_;
  int numbers_ = 0;  // for their names
};

}  // namespace dfsim::inline graphs
