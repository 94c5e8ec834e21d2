// Operators that ONNX defines by a function and that ONNX Runtime has no kernel for run as the
// function's body. It writes the body out only when it assigns operators to providers, so its
// constant folding and its first rules have passed by then: a Cast to the type that the tensor
// already has stays, and copies it.
//
// Left out: the few integers from which a body computes shapes.
#include "graphs/ops/onnx_dtype.h"
#include "graphs/passes/cleanup/function_body.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

// GroupNormalization takes a scale for each channel from this version on, for each group before.
constexpr int kScalesPerChannel = 21;

void write_cast_like(FunctionBody body) {
  const DType to = body.dtype(body.operand(1));
  body.finish("Cast", {body.operand(0)}, {{"to", int64_t{dtype_to_onnx(to)}}});
}

// x tanh(softplus(x))
void write_mish(FunctionBody body) {
  const TensorId x = body.operand(0);
  body.finish("Mul", {x, body.elementwise("Tanh", {body.elementwise("Softplus", {x})})});
}

// x sigmoid(alpha x). The factor is multiplied by even when it is 1.
void write_swish(FunctionBody body) {
  const TensorId x = body.operand(0);
  const TensorId alpha =
      body.cast(body.number(body.call().attributes.get_float("alpha").value_or(1)), body.dtype(x));
  const TensorId scaled = body.add("Mul", {alpha, x}, body.dtype(x), Shape(body.shape(x)));
  body.finish("Mul", {x, body.elementwise("Sigmoid", {scaled})});
}

// x hardsigmoid(x), with a slope of 1 / 6
void write_hard_swish(FunctionBody body) {
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
void write_group_norm(FunctionBody body) {
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
  const BodyAttributes keeps = {{"keepdims", int64_t{1}}};
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
