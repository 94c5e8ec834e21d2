// Operators that are several in one: what TensorFlow's own optimiser fuses, cells, quantisation.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graphs/tensorflow/window_internal.h"

namespace dfsim::inline graphs {
namespace {

std::vector<std::string> fused_ops(const NodeContext& node) {
  const tf::AttrValue* list = find_attribute(node.def(), "fused_ops");
  return list != nullptr
             ? std::vector<std::string>(list->list().s().begin(), list->list().s().end())
             : std::vector<std::string>();
}

// The activation at the end of a fused operator, or "" when there is none; nullopt: unknown.
std::optional<std::string_view> activation_of(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kActivations[] = {
      {"BiasAdd", ""},  {"Relu", "Relu"},       {"Relu6", "Clip"},         {"Elu", "Elu"},
      {"Tanh", "Tanh"}, {"Sigmoid", "Sigmoid"}, {"LeakyRelu", "LeakyRelu"}};
  for (const auto& [type, ours] : kActivations) {
    if (type == name) {
      return ours;
    }
  }
  return std::nullopt;
}

// The bias is taken into the operator, activations follow it.
void fused(NodeContext& node, std::string_view target) {
  const std::vector<std::string> parts = fused_ops(node);
  for (const std::string& part : parts) {
    if (!activation_of(part)) {
      node.unresolved(
          fmt::format("it contains {}, which dfsim cannot take apart", printable(part, 40)));
      return;
    }
  }
  const bool bias = !parts.empty() && parts[0] == "BiasAdd" && node.has_input(2);
  TensorId result;
  if (target == "Gemm") {
    std::vector<TensorId> inputs = {node.plain(0), node.plain(1)};
    if (bias) {
      inputs.push_back(node.plain(2));
    }
    result = node.emit(target, std::move(inputs),
                       {{"transA", int64_t{node.attr_bool("transpose_a", false)}},
                        {"transB", int64_t{node.attr_bool("transpose_b", false)}}});
  } else {
    const bool depthwise = node.type().find("Depthwise") != std::string::npos;
    const Shape filter = node.shape(1);
    const int rank = node.rank(0);
    if (rank != 4 || filter.rank() != 4) {
      node.error("expected an image and a filter of rank 4");
      return;
    }
    const std::vector<int64_t> f = filter.extents();
    const int64_t channels = node.shape(0)[node.is_nchw() ? 1 : 3].extent();
    const int64_t group = depthwise ? f[2] : f[2] > 0 ? channels / f[2] : 1;
    const auto attributes = conv_attributes(node, spatial_extents(node, 0), f, group);
    if (!attributes) {
      return;
    }
    const TensorId w =
        depthwise ? depthwise_filter(node, 1)
                  : node.emitter().transposed(node.plain(1), filter_to_channels_first(rank));
    std::vector<TensorId> inputs = {node.image(0), w};
    if (bias) {
      inputs.push_back(node.plain(2));
    }
    result = node.emit(target, std::move(inputs), *attributes);
  }
  for (const std::string& part : parts) {
    const std::string_view activation = *activation_of(part);
    if (!activation.empty()) {
      result = node.help(activation, {result});
    }
  }
  if (target == "Gemm") {
    node.set(0, result);
  } else {
    node.set_image(0, result);
  }
}

// Simulated quantisation: scale, round, clip, scale back.
void fake_quantize(NodeContext& node, std::string_view target) {
  const bool channels_first = node.prefers_channels_first(0);
  const TensorId x = channels_first ? node.emitter().channels_first(node.input(0)) : node.plain(0);
  const TensorId result = node.emit(target, {x}, {}, kTensorFlow);
  channels_first ? node.set_channels_first(0, result) : node.set(0, result);
}

// seq_len_max, x [T, B, I], states [B, H], weights [I + H, 4 H], peepholes, bias -> 7 x [T, B, H]
void block_lstm(NodeContext& node, std::string_view target) {
  if (node.rank(1) != 3 || node.rank(4) != 2) {
    node.unresolved("expected an input [time, batch, width] and one matrix of weights");
    return;
  }
  const auto results = node.emit_many(
      target, {node.plain(1), node.plain(4), node.plain(2), node.plain(3), node.plain(8)}, {}, 7,
      kTensorFlow);
  for (size_t i = 0; i < results.size(); ++i) {
    node.set(i, results[i]);
  }
}

// x [B, I], state [B, H], previous output [B, H], weights [I + H, 4 H], ... -> 7 x [B, H]
void lstm_cell(NodeContext& node, std::string_view target) {
  if (node.rank(0) != 2 || node.rank(2) != 2) {
    node.error("expected an input and a previous output of rank 2");
    return;
  }
  const std::vector<KnownOutput> results(7, KnownOutput{node.shape(2).extents()});
  node.set_known(target, {node.plain(0), node.plain(2), node.plain(3)}, results);
}

// x [B, I], previous output [B, H], weights [I + H, 2 H] and [I + H, H], biases -> 4 x [B, H]
void gru_cell(NodeContext& node, std::string_view target) {
  if (node.rank(0) != 2 || node.rank(1) != 2) {
    node.error("expected an input and a previous output of rank 2");
    return;
  }
  const std::vector<KnownOutput> results(4, KnownOutput{node.shape(1).extents()});
  node.set_known(target, {node.plain(0), node.plain(1), node.plain(2), node.plain(3)}, results);
}

// clang-format off
constexpr TfRule kLayerRules[] = {
    {.type = "_FusedConv2D", .translate = fused, .target = "Conv", .required_inputs = 2},
    {.type = "_FusedDepthwiseConv2dNative", .translate = fused, .target = "Conv",
     .required_inputs = 2},
    {.type = "_FusedMatMul", .translate = fused, .target = "Gemm", .required_inputs = 2},
    {.type = "FakeQuantWithMinMaxArgs", .translate = fake_quantize, .target = "FakeQuant"},
    {.type = "FakeQuantWithMinMaxVars", .translate = fake_quantize, .target = "FakeQuant"},
    {.type = "FakeQuantWithMinMaxVarsPerChannel", .translate = fake_quantize,
     .target = "FakeQuant"},
    {.type = "QuantizeAndDequantizeV2", .translate = fake_quantize, .target = "FakeQuant"},
    {.type = "QuantizeAndDequantizeV3", .translate = fake_quantize, .target = "FakeQuant"},
    {.type = "QuantizeAndDequantizeV4", .translate = fake_quantize, .target = "FakeQuant"},
    {.type = "LSTMBlockCell", .translate = lstm_cell, .target = "LSTMBlockCell",
     .required_inputs = 8},
    {.type = "GRUBlockCell", .translate = gru_cell, .target = "GRUBlockCell", .required_inputs = 6},
    {.type = "BlockLSTM", .translate = block_lstm, .target = "BlockLSTM", .required_inputs = 9},
    {.type = "BlockLSTMV2", .translate = block_lstm, .target = "BlockLSTM", .required_inputs = 9},
};
// clang-format on

}  // namespace

std::span<const TfRule> layer_tf_rules() { return kLayerRules; }

}  // namespace dfsim::inline graphs
