// GELU, written out by exporters, in one operator: exact, by tanh, by sigmoid; with a bias.
#include <array>
#include <cmath>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"

namespace dfsim::inline graphs {
namespace {

using pattern::any;
using pattern::constant;
using pattern::op;
using pattern::parameter;
using pattern::scalar;

constexpr double kSqrtHalf = 0.70710678118654752;
constexpr double kCubeFactor = 0.044715;
constexpr double kTanhScale = 0.79788456080286536;  // sqrt(2 / pi)

// Replaces the first of `patterns` that matches, operand in slot 0, wherever one does.
void fuse_all(EditableGraph& graph, const std::vector<Pattern>& patterns,
              std::string_view fused_type, std::string_view domain = kMicrosoft) {
  for (const OpId id : graph.ops()) {
    for (const Pattern& pattern : patterns) {
      const auto found = match(graph, pattern, id);
      if (!found) {
        continue;
      }
      Op fused;
      fused.domain = domain;
      fused.op_type = fused_type;
      fused.inputs = {found->tensors[0]};
      fused.outputs = {graph.op(id).outputs[0]};
      if (found->tensors[1].valid()) {
        fused.attributes.set("alpha", *graph.scalar(found->tensors[1]));
      } else if (fused_type == "QuickGelu") {
        fused.attributes.set("alpha", 1.0);  // without the attribute it is 1.702
      }
      graph.fuse(found->ops, std::move(fused));
      break;
    }
  }
}

// 1 + erf(x / sqrt 2)
std::vector<Pattern> erf_plus_one() {
  return {op("Add", {op("Erf", {op("Div", {any(0), scalar(1 / kSqrtHalf)})}), scalar(1)}),
          op("Add", {op("Erf", {op("Mul", {any(0), scalar(kSqrtHalf)})}), scalar(1)})};
}

// 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)), as exporters write it
std::vector<Pattern> tanh_plus_one() {
  const Pattern cube = op("Pow", {any(0), scalar(3)});
  const Pattern sum = op("Add", {any(0), op("Mul", {cube, scalar(kCubeFactor)})});
  const Pattern factored =
      op("Mul",
         {op("Mul", {any(0), scalar(kTanhScale)}),
          op("Add", {op("Mul", {op("Mul", {any(0), scalar(kCubeFactor)}), any(0)}), scalar(1)})});
  return {op("Add", {op("Tanh", {op("Mul", {sum, scalar(kTanhScale)})}), scalar(1)}),
          op("Add", {op("Tanh", {factored}), scalar(1)})};
}

}  // namespace

void fuse_gelu(EditableGraph& graph) {
  std::vector<Pattern> patterns;
  for (const Pattern& inner : erf_plus_one()) {
    patterns.push_back(op("Mul", {op("Mul", {any(0), inner}), scalar(0.5)}));
    patterns.push_back(op("Mul", {op("Mul", {any(0), scalar(0.5)}), inner}));
  }
  fuse_all(graph, patterns, "Gelu");
}

void fuse_fast_gelu(EditableGraph& graph) {
  std::vector<Pattern> patterns;
  for (const Pattern& inner : tanh_plus_one()) {
    patterns.push_back(op("Mul", {op("Mul", {any(0), scalar(0.5)}), inner}));
  }
  fuse_all(graph, patterns, "FastGelu");
}

void fuse_quick_gelu(EditableGraph& graph) {
  const Pattern scaled = op("Mul", {any(0), op("Sigmoid", {op("Mul", {any(0), constant(1)})})});
  const Pattern silu = op("Mul", {any(0), op("Sigmoid", {any(0)})});
  fuse_all(graph, {scaled, silu}, "QuickGelu");
}

void fuse_aten_activations(EditableGraph& graph) {
  std::vector<Pattern> gelu;
  for (const Pattern& inner : erf_plus_one()) {
    gelu.push_back(op("Mul", {op("Mul", {any(0), inner}), scalar(0.5)}));
    gelu.push_back(op("Mul", {op("Mul", {any(0), scalar(0.5)}), inner}));
    gelu.push_back(op("Mul", {any(0), op("Mul", {inner, scalar(0.5)})}));
  }
  fuse_all(graph, gelu, "Gelu", "");
  fuse_all(graph, {op("Mul", {any(0), op("Sigmoid", {any(0)})})}, "Swish", "");
  fuse_all(graph, {op("Mul", {any(0), op("HardSigmoid", {any(0)})})}, "HardSwish", "");
  fuse_all(graph, {op("Reciprocal", {op("Sqrt", {any(0)})})}, "rsqrt", kAten);
}

void fuse_bias_gelu(EditableGraph& graph) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kWithBias = {
      {{"Gelu", "BiasGelu"}, {"FastGelu", "FastGelu"}}};
  for (const auto& [plain, fused_type] : kWithBias) {
    const Pattern pattern = op(plain, {op("Add", {any(0), parameter(1)})});
    for (const OpId id : graph.ops()) {
      const auto found = match(graph, pattern, id);
      if (!found || graph.op(id).inputs.size() > 1) {
        continue;
      }
      const Shape& x = graph.shape(found->tensors[0]);
      const Shape& bias = graph.shape(found->tensors[1]);
      if (!x.is_static() || !graph.extent_known(found->tensors[0], x.rank() - 1) ||
          bias.rank() != 1 || x.rank() < 1 || x[x.rank() - 1].extent() != bias[0].extent()) {
        continue;
      }
      // A GELU that the file asks to approximate by tanh is the one of FastGelu.
      const bool by_tanh = graph.op(id).attributes.string_or("approximate", "none") == "tanh";
      Op fused;
      fused.domain = kMicrosoft;
      fused.op_type = by_tanh ? "FastGelu" : fused_type;
      fused.inputs = {found->tensors[0], found->tensors[1]};
      fused.outputs = {graph.op(id).outputs[0]};
      graph.fuse(found->ops, std::move(fused));
    }
  }
}

}  // namespace dfsim::inline graphs
