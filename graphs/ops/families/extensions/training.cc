// Losses and parameter updates.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/onnx_gradient.h"
#include "graphs/ops/families/extensions/training_folds.h"
#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

// The loss is a scalar unless it is not reduced; log-probabilities follow.
Status infer_loss(InferContext& context) {
  const bool reduced = context.attributes().string_or("reduction", "mean") != "none";
  context.set_output(0, context.dtype(0), reduced ? Shape::scalar() : context.shape(1));
  context.set_output(1, context.dtype(0), context.shape(0));
  return ok_status();
}

// Inputs: rate R, step T, then parameters, gradients and the optimiser's states, n tensors each.
// Outputs: the new parameters and states, in the same order.
template <size_t kStates>
Status infer_update(InferContext& context) {
  const size_t operands = context.input_count();
  if (operands < 2 || (operands - 2) % (2 + kStates) != 0) {
    return context.error(
        fmt::format("has {} inputs; expected 2 and {} per parameter", operands, 2 + kStates));
  }
  const size_t count = (operands - 2) / (2 + kStates);
  for (size_t i = 0; i < context.output_count(); ++i) {
    // Gradients are read, but not written: states lie one list further in the inputs.
    const size_t input = 2 + (i < count ? i : i + count);
    context.set_output(i, context.dtype(input), context.shape(input));
  }
  return ok_status();
}

// Counted per element that is read: one loss may stand for many.
void work_loss(WorkContext& context) {
  context.add_flops(context.input(0).shape.elements(), context.flops_per_element());
}

// Per element of every new parameter and state.
void work_update(WorkContext& context) {
  for (size_t i = 0; i < context.op().outputs.size(); ++i) {
    if (context.op().outputs[i].valid()) {
      context.add_flops(context.output(i).shape.elements(), context.flops_per_element());
    }
  }
}

// Inputs: the values of `xs`, then of `zs`; outputs: the derivatives of y, one for each of xs.
Status infer_gradient(InferContext& context) {
  for (size_t i = 0; i < context.output_count() && i < context.input_count(); ++i) {
    context.set_output(i, context.dtype(i), context.shape(i));
  }
  return ok_status();
}

// The importer has written down what lies between xs and y. Backwards each operator does about
// twice that: a derivative for its operands and one for its parameters.
void work_gradient(WorkContext& context) {
  const auto count = [&](std::string_view name) {
    return Count(std::max<int64_t>(0, context.op().attributes.int_or(name, 0)));
  };
  BodyWork forward;
  forward.macs = count(kForwardMacs);
  forward.flops = count(kForwardFlops);
  forward.bytes_read = count(kForwardRead);
  forward.bytes_written = count(kForwardWritten);
  forward.dtype = context.input(0).dtype;
  forward.matrix = forward.macs.overflowed() || forward.macs.value() > 0;
  context.set_body(forward, 2);
}

constexpr std::string_view kTraining = "ai.onnx.preview.training";

// clang-format off
constexpr OpDef kTrainingOps[] = {
    {.op_type = "NegativeLogLikelihoodLoss", .op_class = OpClass::kReduce, .infer = infer_loss,
     .work = work_loss, .fold = fold_nll_loss, .flops_per_element = 1, .required_inputs = 2, .factors = factors_loss},
    // the operations of LogSoftmax, then one per class
    {.op_type = "SoftmaxCrossEntropyLoss", .op_class = OpClass::kSoftmax, .infer = infer_loss,
     .work = work_loss, .fold = fold_cross_entropy_loss, .flops_per_element = 7, .required_inputs = 2, .factors = factors_loss},
    {.op_type = "Gradient", .infer = infer_gradient, .work = work_gradient, .domain = kTraining},
    {.op_type = "Adagrad", .op_class = OpClass::kOptimizer, .infer = infer_update<1>,
     .work = work_update, .fold = fold_adagrad, .flops_per_element = 3, .required_inputs = 2, .domain = kTraining,
     .factors = factors_update},
    {.op_type = "Adam", .op_class = OpClass::kOptimizer, .infer = infer_update<2>,
     .work = work_update, .fold = fold_adam, .flops_per_element = 4, .required_inputs = 2, .domain = kTraining,
     .factors = factors_update},
    {.op_type = "Momentum", .op_class = OpClass::kOptimizer, .infer = infer_update<1>,
     .work = work_update, .fold = fold_momentum, .flops_per_element = 2, .required_inputs = 2, .domain = kTraining,
     .factors = factors_update},
};
// clang-format on

constexpr WorkNote kTrainingNotes[] = {
    {work_loss, "{} per input element"},
    {work_gradient, "twice what the operators between xs and y count"},
    {work_update, "{} per element of each new value"},
};

}  // namespace

OpFamily training_op_defs() { return {kTrainingOps, kTrainingNotes}; }

}  // namespace dfsim::inline graphs
