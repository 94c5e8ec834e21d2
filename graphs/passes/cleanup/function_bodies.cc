// Operators that ONNX defines by a function and that ONNX Runtime has no kernel for run as the
// function's body. It writes the body out only when it assigns operators to providers, so its
// constant folding and its first rules have passed by then: a Cast to the type that the tensor
// already has stays, and copies it.
//
// Left out: the few integers from which a body computes shapes.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "graphs/ops/onnx_dtype.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

using AttributeList = std::vector<std::pair<std::string, AttrValue>>;

// GroupNormalization takes a scale for each channel from this version on, for each group before.
constexpr int kScalesPerChannel = 21;

// Writes operators in place of `call`, under its name.
class Body {
 public:
  Body(EditableGraph& graph, OpId call) : graph_(graph), id_(call), call_(graph.op(call)) {}

  const Op& call() const { return call_; }
  TensorId operand(size_t i) const { return call_.inputs[i]; }
  const Shape& shape(TensorId id) const { return graph_.shape(id); }

  // The result of an operator, whose axes are as open as those of its operands.
  TensorId add(std::string_view type, std::vector<TensorId> inputs, DType dtype, Shape shape,
               const AttributeList& attributes = {}) {
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
  TensorId number(double value) {
    return graph_.add_constant(fmt::format("{}/number_{}", call_.name, ops_.size()),
                               ConstValue{DType::kFloat32, {}, {}, {value}});
  }
  DType dtype(TensorId id) const { return graph_.tensor(id).dtype; }

  // The operator that makes what the call made; the call is gone afterwards.
  void finish(std::string_view type, std::vector<TensorId> inputs,
              const AttributeList& attributes = {}) {
    push(type, std::move(inputs), {call_.outputs[0]}, attributes);
    graph_.remove_op(id_);
    for (Op& op : ops_) {
      graph_.add_op(std::move(op));
    }
  }

 private:
  void push(std::string_view type, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
            const AttributeList& attributes) {
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
};

void write_cast_like(Body body) {
  const DType to = body.dtype(body.operand(1));
  body.finish("Cast", {body.operand(0)}, {{"to", int64_t{dtype_to_onnx(to)}}});
}

// x tanh(softplus(x))
void write_mish(Body body) {
  const TensorId x = body.operand(0);
  body.finish("Mul", {x, body.elementwise("Tanh", {body.elementwise("Softplus", {x})})});
}

// x sigmoid(alpha x). The factor is multiplied by even when it is 1.
void write_swish(Body body) {
  const TensorId x = body.operand(0);
  const TensorId alpha =
      body.cast(body.number(body.call().attributes.get_float("alpha").value_or(1)), body.dtype(x));
  const TensorId scaled = body.add("Mul", {alpha, x}, body.dtype(x), Shape(body.shape(x)));
  body.finish("Mul", {x, body.elementwise("Sigmoid", {scaled})});
}

// x hardsigmoid(x), with a slope of 1 / 6
void write_hard_swish(Body body) {
  const TensorId x = body.operand(0);
  const TensorId gate = body.add("HardSigmoid", {x}, body.dtype(x), Shape(body.shape(x)),
                                 {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  body.finish("Mul", {x, gate});
}

// Three operands, and groups of equally many channels.
bool has_groups(const EditableGraph& graph, const Op& op) {
  const Shape& x = graph.shape(op.inputs[0]);
  const int64_t groups = op.attributes.int_or("num_groups", 1);
  return op.inputs.size() == 3 && x.rank() > 1 && groups > 0 && x[1].extent() % groups == 0 &&
         !x.elements().overflowed() && x.elements().value() > 0;
}

// Mean and variance over [images, groups, rest], by the mean of the squares; then scale and bias.
void write_group_norm(Body body) {
  const Op& call = body.call();
  const TensorId x = body.operand(0);
  const Shape whole = body.shape(x);
  const int64_t images = whole[0].extent();
  const int64_t channels = whole[1].extent();
  const int64_t groups = call.attributes.int_or("num_groups", 1);
  const bool per_channel = call.version >= kScalesPerChannel;
  const DType dtype = body.dtype(x);
  const DType inner = per_channel ? DType::kFloat32 : dtype;
  const int64_t in_image = whole.elements().value() / images;
  const Shape grouped{images, groups, in_image / groups};
  const Shape one_each{images, groups, 1};
  const AttributeList keeps = {{"keepdims", int64_t{1}}};
  const TensorId axes = body.ints({2});

  const TensorId parts = body.reshape(per_channel ? body.cast(x, inner) : x, grouped);
  const TensorId mean = body.add("ReduceMean", {parts, axes}, inner, one_each, keeps);
  const TensorId deviation = body.elementwise("Sub", {parts, mean});
  const TensorId squared_mean = body.elementwise("Mul", {mean, mean});
  const TensorId squares = body.elementwise("Mul", {parts, parts});
  const TensorId mean_square = body.add("ReduceMean", {squares, axes}, inner, one_each, keeps);
  const TensorId variance = body.elementwise("Sub", {mean_square, squared_mean});
  const TensorId epsilon = body.number(call.attributes.get_float("epsilon").value_or(1e-5));
  const TensorId root = body.elementwise("Sqrt", {body.elementwise("Add", {variance, epsilon})});
  TensorId normal = body.elementwise("Div", {deviation, root});
  if (per_channel) {
    normal = body.cast(body.reshape(normal, Shape{images, channels, in_image / channels}), dtype);
  }
  const Shape column{1, per_channel ? channels : groups, 1};
  const TensorId scale = body.reshape(body.operand(1), column);
  const TensorId bias = body.reshape(body.operand(2), column);
  const TensorId scaled = body.add("Mul", {scale, normal}, dtype, Shape(body.shape(normal)));
  const TensorId biased = body.elementwise("Add", {scaled, bias});
  body.finish("Reshape", {biased, body.ints(whole.extents())});
}

}  // namespace

// A pass of its own, ahead of the others: ONNX Runtime puts this function into a convolution.
void split_hard_swish(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (graph.op(id).op_type == "HardSwish" && graph.op(id).domain.empty()) {
      write_hard_swish({graph, id});
    }
  }
}

void write_function_bodies(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (!op.domain.empty() || op.inputs.empty() || !op.inputs[0].valid() ||
        !graph.shape(op.inputs[0]).is_static()) {
      continue;
    }
    if (op.op_type == "CastLike" && op.inputs.size() == 2) {
      write_cast_like({graph, id});
    } else if (op.op_type == "Mish") {
      write_mish({graph, id});
    } else if (op.op_type == "Swish") {
      write_swish({graph, id});
    } else if (op.op_type == "GroupNormalization" && has_groups(graph, op)) {
      write_group_norm({graph, id});
    }
  }
}

}  // namespace dfsim::inline graphs
