// One branch per loss: the operator of its value and the operators of its gradient. Rows of a
// cross entropy are all axes but the last.
#include "graphs/training/training_losses.h"

#include "graphs/ops/families/extensions/gradient_ops.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kLossVersion = 13;

Op loss_op(const GraphBuilder& builder, TensorId output, std::string_view domain,
           std::string_view type, OpClass op_class, std::vector<TensorId> inputs) {
  Op op;
  op.domain = domain;
  op.op_type = type;
  op.op_class = op_class;
  op.version = domain.empty() ? kLossVersion : 1;
  op.name = builder.tensor(output).name + "/loss";
  op.inputs = std::move(inputs);
  return op;
}

// All axes but the last in one, without moving anything.
Shape loss_rows(const Shape& shape) {
  Count rows(1);
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) {
    rows = rows * Count(shape[axis].extent());
  }
  return Shape({Dim(rows.value()), shape[shape.rank() - 1]});
}

TensorId target_of(GraphBuilder& builder, TensorId output, DType dtype, Shape shape) {
  Tensor target;
  target.name = builder.tensor(output).name + "/target";
  target.dtype = dtype;
  target.shape = std::move(shape);
  const TensorId id = builder.add_tensor(std::move(target));
  builder.mark_input(id);
  return id;
}

TensorId reshaped(BackwardGraph& graph, TensorId output, TensorId x, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.rank());
  Tensor extents;
  extents.name = graph.builder().tensor(output).name + "/extents";
  extents.dtype = DType::kInt64;
  extents.role = TensorRole::kConstant;
  extents.shape = Shape({Dim(rank)});
  const TensorId constant = graph.builder().add_tensor(std::move(extents));
  graph.builder().set_constant(constant, {DType::kInt64, {rank}, shape.extents(), {}});
  return graph.add(loss_op(graph.builder(), output, "", "Reshape", OpClass::kView, {x, constant}),
                   {shape}, {})[0];
}

bool has_rows(const Shape& shape) { return shape.rank() >= 2; }

}  // namespace

TensorId add_loss(BackwardGraph& graph, TensorId output, LossKind loss) {
  GraphBuilder& builder = graph.builder();
  const Tensor tensor = builder.tensor(output);
  if (loss == LossKind::kCrossEntropy && has_rows(tensor.shape)) {
    const Shape rows = loss_rows(tensor.shape);
    const TensorId logits = reshaped(graph, output, output, rows);
    Op softmax = loss_op(builder, output, "", "LogSoftmax", OpClass::kSoftmax, {logits});
    softmax.attributes.set("axis", int64_t{1});
    const TensorId log_probabilities = graph.add(std::move(softmax), {rows}, {DType::kFloat32})[0];
    const TensorId target = target_of(builder, output, DType::kInt64, Shape({rows[0]}));
    graph.add(loss_op(builder, output, "", "NegativeLogLikelihoodLoss", OpClass::kReduce,
                      {log_probabilities, target}),
              {Shape::scalar()}, {});
    return log_probabilities;
  }
  if (loss == LossKind::kMse) {
    const TensorId target = target_of(builder, output, tensor.dtype, tensor.shape);
    const TensorId difference =
        graph.add(loss_op(builder, output, "", "Sub", OpClass::kElementwise, {output, target}),
                  {tensor.shape}, {DType::kFloat32})[0];
    graph.add(loss_op(builder, output, "", "ReduceSumSquare", OpClass::kReduce, {difference}),
              {Shape(Dims(static_cast<size_t>(tensor.shape.rank()), Dim(1)))}, {});
    return difference;
  }
  return output;
}

TensorId add_loss_gradient(BackwardGraph& graph, TensorId output, TensorId read, LossKind loss) {
  GraphBuilder& builder = graph.builder();
  const Tensor tensor = builder.tensor(output);
  if (loss == LossKind::kCrossEntropy && has_rows(tensor.shape)) {
    const Shape rows = builder.tensor(read).shape;
    // Zeros, and minus the weight of a row at its target: written, with nothing large to read.
    const TensorId target = target_of(builder, output, DType::kInt64, Shape({rows[0]}));
    const TensorId sparse = graph.add(
        loss_op(builder, output, kTrainingDomain, "LossGrad", OpClass::kElementwise, {target}),
        {rows}, {DType::kFloat32})[0];
    Op back =
        loss_op(builder, output, kTrainingDomain, "SoftmaxGrad", OpClass::kSoftmax, {sparse, read});
    back.attributes.set("axis", int64_t{1});
    back.attributes.set("of", std::string("LogSoftmax"));
    const TensorId gradient = graph.add(std::move(back), {rows}, {tensor.dtype})[0];
    return reshaped(graph, output, gradient, tensor.shape);
  }
  return graph.add(
      loss_op(builder, output, kTrainingDomain, "LossGrad", OpClass::kElementwise, {read}),
      {tensor.shape}, {tensor.dtype})[0];
}

}  // namespace dfsim::inline graphs
