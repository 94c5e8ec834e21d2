// Operators with the names and opsets of their place; the first problem is kept for the end.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/llm/llm_graph_internal.h"

namespace dfsim::inline graphs {

namespace {

constexpr int kStandardOpset = 18;
constexpr int kLinearOpset = 27;  // has LinearAttention and CausalConvWithState

}  // namespace

LlmGraphParts::LlmGraphParts(const LlmConfig& config, const LlmGraphOptions& options)
    : config_(config),
      options_(options),
      opset_(std::any_of(config.layers.begin(), config.layers.end(),
                         [](const LlmLayer& layer) { return layer.is_linear(); })
                 ? kLinearOpset
                 : kStandardOpset) {}

std::string LlmGraphParts::named(const std::string& name) const {
  return place_.empty() ? name : place_ + "/" + name;
}

TensorId LlmGraphParts::tensor(const std::string& name, DType dtype, TensorRole role,
                               const std::vector<int64_t>& extents) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.role = role;
  tensor.shape = Shape::of(extents);
  return graph_.add_tensor(std::move(tensor));
}

TensorId LlmGraphParts::input(const std::string& name, DType dtype,
                              const std::vector<int64_t>& extents) {
  const TensorId id = tensor(named(name), dtype, TensorRole::kActivation, extents);
  graph_.mark_input(id);
  return id;
}

TensorId LlmGraphParts::weight(const std::string& name, const std::vector<int64_t>& extents) {
  return tensor(named(name), options_.dtype, TensorRole::kWeight, extents);
}

TensorId LlmGraphParts::integers(const std::string& name, const std::vector<int64_t>& values) {
  const auto count = static_cast<int64_t>(values.size());
  const TensorId id = tensor(named(name), DType::kInt64, TensorRole::kConstant, {count});
  graph_.set_constant(id, {DType::kInt64, {count}, values, {}});
  return id;
}

std::vector<TensorId> LlmGraphParts::op(
    const std::string& name, const std::string& type, const std::string& domain,
    std::vector<TensorId> inputs, const std::vector<std::pair<std::string, AttrValue>>& attributes,
    size_t outputs) {
  Op op;
  op.name = named(name);
  op.op_type = type;
  op.domain = domain;
  op.version = domain.empty() ? opset_ : 1;
  op.inputs = std::move(inputs);
  for (size_t i = 0; i < outputs; ++i) {
    Tensor result;
    result.name = named(name + (i == 0 ? "_out" : fmt::format("_out{}", i)));
    op.outputs.push_back(graph_.add_tensor(std::move(result)));
  }
  for (const auto& [key, value] : attributes) {
    op.attributes.set(key, value);
  }
  std::vector<TensorId> results = op.outputs;
  const StatusOr<OpId> added = graph_.add_op(std::move(op));
  if (!added.ok() && problem_.ok()) {
    problem_ = added.status();
  }
  return results;
}

TensorId LlmGraphParts::linear(const std::string& name, TensorId x, int64_t inputs, int64_t outputs,
                               bool bias) {
  TensorId y = op(name, "MatMul", "", {x, weight(name + ".weight", {inputs, outputs})}).front();
  if (bias) {
    y = op(name + "_bias", "Add", "", {y, weight(name + ".bias", {outputs})}).front();
  }
  return y;
}

TensorId LlmGraphParts::norm(const std::string& name, TensorId x, int64_t width) {
  if (config_.norm_bias) {
    return op(name, "LayerNormalization", "",
              {x, weight(name + ".weight", {width}), weight(name + ".bias", {width})})
        .front();
  }
  return op(name, "SimplifiedLayerNormalization", "", {x, weight(name + ".weight", {width})})
      .front();
}

TensorId LlmGraphParts::head_norm(const std::string& name, TensorId x, int64_t heads, int64_t d) {
  const TensorId apart = integers(name + "_heads", {0, 0, heads, d});
  const TensorId together = integers(name + "_flat", {0, 0, heads * d});
  const TensorId y = op(name + "_split", "Reshape", "", {x, apart}).front();
  return op(name + "_merge", "Reshape", "", {norm(name, y, d), together}).front();
}

std::vector<TensorId> LlmGraphParts::split(const std::string& name, TensorId x,
                                           const std::vector<int64_t>& widths) {
  return op(name + "_split", "Split", "", {x, integers(name + "_widths", widths)},
            {{"axis", int64_t{2}}}, widths.size());
}

TensorId LlmGraphParts::gated(const std::string& name, TensorId x, TensorId gate) {
  return op(name + "_gated", "Mul", "", {x, op(name + "_sigmoid", "Sigmoid", "", {gate}).front()})
      .front();
}

TensorId LlmGraphParts::past(const std::string& name, std::vector<int64_t> extents) {
  extents.insert(extents.begin(), options_.batch);
  const bool empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  return options_.context_tokens > 0 && !empty ? input(name, options_.dtype, extents) : TensorId();
}

}  // namespace dfsim::inline graphs
