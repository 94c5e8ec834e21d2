// One op on given operands, inferred and counted: what tests of op definitions are made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graphs/ir/graph_builder.h"
#include "graphs/ops/infer.h"

namespace dfsim {

struct Operand {
  Shape shape;
  DType dtype = DType::kFloat32;
  TensorRole role = TensorRole::kActivation;
  std::vector<int64_t> ints = {};  // its value, when not empty
  std::vector<double> floats = {};
  bool absent = false;           // an optional operand that is left out
  int64_t sequence_length = -1;  // of a list of tensors of that shape
};

inline Operand operand(Dims dims, DType dtype = DType::kFloat32) {
  return {Shape(std::move(dims)), dtype};
}
inline Operand weight(Dims dims, DType dtype = DType::kFloat32) {
  return {Shape(std::move(dims)), dtype, TensorRole::kWeight};
}
inline Operand unknown_operand() { return {Shape()}; }
inline Operand absent() {
  Operand operand;
  operand.absent = true;
  return operand;
}
// A constant int64 vector.
inline Operand ints(std::vector<int64_t> values) {
  Operand operand{Shape({Dim(static_cast<int64_t>(values.size()))}), DType::kInt64,
                  TensorRole::kConstant};
  operand.ints = std::move(values);
  return operand;
}
// A constant int64 scalar.
inline Operand scalar_int(int64_t value) {
  Operand operand{Shape::scalar(), DType::kInt64, TensorRole::kConstant};
  operand.ints = {value};
  return operand;
}
inline Operand floats(std::vector<double> values) {
  Operand operand{Shape({Dim(static_cast<int64_t>(values.size()))}), DType::kFloat32,
                  TensorRole::kConstant};
  operand.floats = std::move(values);
  return operand;
}

struct OpCase {
  std::string op_type;
  std::vector<Operand> inputs;
  std::vector<std::pair<std::string, AttrValue>> attributes = {};
  int version = 17;
  size_t outputs = 1;
  std::string domain = "";
  std::vector<Shape> output_shapes = {};  // for ops whose shapes a pass sets, not a rule
};

struct OpOutcome {
  Status status;
  std::vector<UnresolvedOp> unresolved;
  Graph graph;  // only when status is OK

  const Tensor& output(size_t i = 0) const { return graph.tensor(graph.op(OpId(0)).outputs[i]); }
  std::string shape(size_t i = 0) const { return format_shape(output(i).shape); }
  DType dtype(size_t i = 0) const { return output(i).dtype; }
  const ConstValue* value(size_t i = 0) const {
    return graph.constant(graph.op(OpId(0)).outputs[i]);
  }
  OpWork work() const {
    const auto work = op_work(graph, OpId(0));
    return work.ok() ? *work : OpWork{-1, -1, -1, -1};
  }
};

inline OpOutcome infer(const OpCase& example) {
  GraphBuilder builder;
  Op op;
  op.op_type = example.op_type;
  op.domain = example.domain;
  op.version = example.version;
  op.name = "op";
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    const Operand& given = example.inputs[i];
    if (given.absent) {
      op.inputs.emplace_back();
      continue;
    }
    const TensorId id = builder.tensor_by_name(std::string("in").append(std::to_string(i)));
    Tensor& tensor = builder.tensor(id);
    tensor.shape = given.shape;
    tensor.dtype = given.dtype;
    tensor.role = given.role;
    tensor.is_sequence = given.sequence_length >= 0;
    tensor.sequence_length = given.sequence_length;
    if (given.role == TensorRole::kActivation) {
      builder.mark_input(id);
    }
    const bool empty = given.role == TensorRole::kConstant && given.shape.is_static() &&
                       given.shape.elements() == Count(0);
    if (!given.ints.empty() || !given.floats.empty() || empty) {
      builder.set_constant(id, {given.dtype, given.shape.extents(), given.ints, given.floats});
    }
    op.inputs.push_back(id);
  }
  for (size_t i = 0; i < example.outputs; ++i) {
    op.outputs.push_back(builder.tensor_by_name(std::string("out").append(std::to_string(i))));
    builder.mark_output(op.outputs.back());
    if (i < example.output_shapes.size()) {
      builder.tensor(op.outputs.back()).shape = example.output_shapes[i];
      builder.tensor(op.outputs.back()).dtype = DType::kFloat32;
    }
  }
  for (const auto& [name, value] : example.attributes) {
    op.attributes.set(name, value);
  }
  OpOutcome outcome;
  if (auto added = builder.add_op(std::move(op)); !added.ok()) {
    outcome.status = added.status();
    return outcome;
  }
  auto unresolved = infer_shapes(builder, {});
  if (!unresolved.ok()) {
    outcome.status = unresolved.status();
    return outcome;
  }
  outcome.unresolved = std::move(*unresolved);
  outcome.graph = std::move(builder.build()).value();
  return outcome;
}

using Ints = std::vector<int64_t>;

}  // namespace dfsim
