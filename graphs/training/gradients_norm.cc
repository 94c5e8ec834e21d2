// Gradients of normalisations.
#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/rules.h"
#include "graphs/training/gradient_context.h"

namespace dfsim::inline graphs {
namespace {

// Gradient of the normalised input, then of scale and offset: operands `scale` and behind it.
void norm_gradient(GradientContext& context, TensorId input, size_t scale, size_t count) {
  std::vector<TensorId> inputs = {context.gradient(), input};
  std::vector<Shape> shapes = {context.output(0).shape};
  std::vector<size_t> operands;
  for (size_t i = scale; i < scale + count; ++i) {
    if (context.has_input(i)) {
      inputs.push_back(context.value(i));
      shapes.push_back(context.shape(i));
      operands.push_back(i);
    }
  }
  AttributeList attributes = {{"of", context.op().op_type}};
  if (const auto axis = context.attributes().get_int("axis")) {
    attributes.emplace_back("axis", *axis);
  }
  if (const auto last = context.attributes().get_int(kChannelsLast)) {
    attributes.emplace_back(std::string(kChannelsLast), *last);
  }
  const auto results = context.emit_many(kTrainingDomain, "NormGrad", std::move(inputs), shapes,
                                         std::move(attributes));
  context.set(0, results[0]);
  for (size_t k = 0; k < operands.size(); ++k) {
    context.set(operands[k], results[k + 1]);
  }
}

// x, scale, offset; statistics behind them are not trained.
void gradient_of_norm(GradientContext& context) { norm_gradient(context, context.value(0), 1, 2); }

// x, skip, scale, offset, bias: normalises their sum, which is the last output.
void gradient_of_skip_norm(GradientContext& context) {
  const bool simplified = context.op().op_type.starts_with("SkipSimplified");
  const size_t bias = simplified ? 3 : 4;
  // The sum has the input's shape and size, whichever of them stays in memory.
  norm_gradient(context, context.value(0), 2, simplified ? 1 : 2);
  TensorId sum = context.results()[0];
  const size_t last = context.op().outputs.size() - 1;
  if (last > 0 && context.gradient(last).valid()) {
    sum = context.emit("", "Add", {sum, context.gradient(last)}, context.shape(0));
  }
  context.set(0, sum);
  context.set(1, context.sum_to(sum, context.shape(1)));
  if (context.has_input(bias) && context.wanted(bias)) {
    context.set(bias, context.sum_to(sum, context.shape(bias)));
  }
}

}  // namespace

std::vector<GradientEntry> norm_gradients() {
  return {{"BatchNormalization", gradient_of_norm},
          {"LayerNormalization", gradient_of_norm},
          {"InstanceNormalization", gradient_of_norm},
          {"GroupNormalization", gradient_of_norm},
          {"RMSNormalization", gradient_of_norm},
          {"SimplifiedLayerNormalization", gradient_of_norm},
          {"SkipLayerNormalization", gradient_of_skip_norm, kMicrosoft},
          {"SkipSimplifiedLayerNormalization", gradient_of_skip_norm, kMicrosoft}};
}

}  // namespace dfsim::inline graphs
