// Collects the operators of a body and adds them at the end: the call's results must have no
// producer when the last of them is added.
#include "graphs/passes/cleanup/function_body.h"

#include <fmt/format.h>

#include "graphs/ops/onnx_dtype.h"

namespace dfsim::inline graphs {

TensorId FunctionBody::add(std::string_view type, std::vector<TensorId> inputs, DType dtype,
                           Shape shape, const BodyAttributes& attributes) {
  const TensorId made = graph_.add_tensor(fmt::format("{}/{}_{}", call_.name, type, ops_.size()),
                                          dtype, std::move(shape));
  push(type, std::move(inputs), {made}, attributes);
  return made;
}

TensorId FunctionBody::elementwise(std::string_view type, std::vector<TensorId> inputs) {
  const Tensor& like = graph_.tensor(inputs[0]);
  return add(type, std::move(inputs), like.dtype, Shape(like.shape));
}

TensorId FunctionBody::cast(TensorId id, DType to) {
  return add("Cast", {id}, to, Shape(shape(id)), {{"to", int64_t{dtype_to_onnx(to)}}});
}

TensorId FunctionBody::ints(const std::vector<int64_t>& values) {
  return graph_.add_ints(fmt::format("{}/ints_{}", call_.name, ops_.size()), values);
}

TensorId FunctionBody::reshape(TensorId id, const Shape& to) {
  return add("Reshape", {id, ints(to.extents())}, dtype(id), to);
}

TensorId FunctionBody::number(double value, DType dtype) {
  return graph_.add_constant(fmt::format("{}/number_{}", call_.name, numbers_++),
                             ConstValue{dtype, {}, {}, {value}});
}

void FunctionBody::finish(std::string_view type, std::vector<TensorId> inputs,
                          const BodyAttributes& attributes) {
  push(type, std::move(inputs), {call_.outputs[0]}, attributes);
  graph_.remove_op(id_);
  for (Op& op : ops_) {
    graph_.add_op(std::move(op));
  }
}

void FunctionBody::push(std::string_view type, std::vector<TensorId> inputs,
                        std::vector<TensorId> outputs, const BodyAttributes& attributes) {
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

}  // namespace dfsim::inline graphs
