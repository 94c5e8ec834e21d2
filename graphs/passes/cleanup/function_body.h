// Operators in place of a call of a function that ONNX defines by others. Internal to
// graphs/passes.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "graphs/ops/onnx_dtype.h"
#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

using BodyAttributes = std::vector<std::pair<std::string, AttrValue>>;

// Writes operators in place of `call`, under its name.
class FunctionBody {
 public:
  FunctionBody(EditableGraph& graph, OpId call) : graph_(graph), id_(call), call_(graph.op(call)) {}

  const Op& call() const { return call_; }
  TensorId operand(size_t i) const { return call_.inputs[i]; }
  const Shape& shape(TensorId id) const { return graph_.shape(id); }

  // The result of an operator, whose axes are as open as those of its operands.
  TensorId add(std::string_view type, std::vector<TensorId> inputs, DType dtype, Shape shape,
               const BodyAttributes& attributes = {}) {
    const TensorId made = graph_.add_tensor(fmt::format("{}/{}_{}", call_.name, type, ops_.size()),
                                            dtype, std::move(shape));
    push(type, std::move(inputs), {made}, attributes);
    return made;
  }
  TensorId elementwise(std::string_view type, std::vector<TensorId> inputs) {
    const Tensor& like = graph_.tensor(inputs[0]);
    return add(type, std::move(inputs), like.dtype, Shape(like.shape));
  }
  TensorId cast(TensorId id, DType to) {
    return add("Cast", {id}, to, Shape(shape(id)), {{"to", int64_t{dtype_to_onnx(to)}}});
  }
  TensorId ints(const std::vector<int64_t>& values) {
    return graph_.add_ints(fmt::format("{}/ints_{}", call_.name, ops_.size()), values);
  }
  TensorId reshape(TensorId id, const Shape& to) {
    return add("Reshape", {id, ints(to.extents())}, dtype(id), to);
  }
  TensorId number(double value, DType dtype = DType::kFloat32) {
    return graph_.add_constant(fmt::format("{}/number_{}", call_.name, numbers_++),
                               ConstValue{dtype, {}, {}, {value}});
  }
  DType dtype(TensorId id) const { return graph_.tensor(id).dtype; }

  // The operator that makes what the call made; the call is gone afterwards.
  void finish(std::string_view type, std::vector<TensorId> inputs,
              const BodyAttributes& attributes = {}) {
    push(type, std::move(inputs), {call_.outputs[0]}, attributes);
    graph_.remove_op(id_);
    for (Op& op : ops_) {
      graph_.add_op(std::move(op));
    }
  }

 private:
  void push(std::string_view type, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
            const BodyAttributes& attributes) {
    Op op;
    op.op_type = type;
    op.name = graph_.tensor(outputs[0]).name;
    op.version = call_.version;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    for (const auto& [name, value] : attributes) {
      op.attributes.set(name, value);
    }
    set_origins(&op, origins_of(call_));
    ops_.push_back(std::move(op));
  }

  EditableGraph& graph_;
  OpId id_;
  Op call_;
  std::vector<Op> ops_;
  int numbers_ = 0;  // for their names
};

}  // namespace dfsim::inline graphs
