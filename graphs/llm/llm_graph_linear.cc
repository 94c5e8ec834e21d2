// Layers of linear attention: each head's state takes in every token and gives each query its
// answer, so that no cache grows.
#include "graphs/llm/llm_graph_internal.h"

namespace dfsim::inline graphs {

namespace {

// A query or key of the delta rule: of length 1, and repeated for each value head.
TensorId unit_vectors(LlmGraphParts& graph, const std::string& name, TensorId x) {
  const LlmDelta& delta = graph.config().delta;
  const int64_t repeats = delta.value_heads / delta.key_heads;
  TensorId y =
      graph
          .op(name + "_heads", "Reshape", "",
              {x, graph.integers(name + "_apart", {0, 0, delta.key_heads, 1, delta.key_dim})})
          .front();
  y = graph
          .op(name + "_unit", "LpNormalization", "", {y},
              {{"axis", int64_t{-1}}, {"p", int64_t{2}}})
          .front();
  if (repeats > 1) {
    y = graph
            .op(name + "_repeat", "Expand", "",
                {y, graph.integers(name + "_groups", {1, 1, 1, repeats, 1})})
            .front();
  }
  return graph
      .op(name + "_flat", "Reshape", "",
          {y, graph.integers(name + "_together", {0, 0, delta.value_heads * delta.key_dim})})
      .front();
}

}  // namespace

TensorId add_gated_delta(LlmGraphParts& graph, TensorId x) {
  const LlmDelta& delta = graph.config().delta;
  const int64_t heads = delta.value_heads;
  const auto projected = graph.split("qkvz",
                                     graph.linear("in_proj_qkvz", x, graph.config().hidden,
                                                  delta.channels() + delta.values(), false),
                                     {delta.channels(), delta.values()});
  const auto ba = graph.split(
      "ba", graph.linear("in_proj_ba", x, graph.config().hidden, 2 * heads, false), {heads, heads});
  const AttrValue swapped = std::vector<int64_t>{0, 2, 1};
  TensorId mixed =
      graph.op("conv_in", "Transpose", "", {projected[0]}, {{"perm", swapped}}).front();
  mixed = graph
              .op("conv1d", "CausalConvWithState", "",
                  {mixed, graph.weight("conv1d.weight", {delta.channels(), 1, delta.kernel}),
                   TensorId(), graph.past("past_conv", {delta.channels(), delta.kernel - 1})},
                  {{"activation", std::string("silu")}})
              .front();
  mixed = graph.op("conv_out", "Transpose", "", {mixed}, {{"perm", swapped}}).front();
  const auto qkv = graph.split("qkv", mixed, {delta.keys(), delta.keys(), delta.values()});
  const TensorId beta = graph.op("beta", "Sigmoid", "", {ba[0]}).front();
  TensorId decay = graph.op("dt", "Add", "", {ba[1], graph.weight("dt_bias", {heads})}).front();
  decay = graph.op("dt_softplus", "Softplus", "", {decay}).front();
  decay = graph.op("decay", "Mul", "", {decay, graph.weight("A", {heads})}).front();
  const TensorId read =
      graph
          .op("delta_rule", "LinearAttention", "",
              {unit_vectors(graph, "q", qkv[0]), unit_vectors(graph, "k", qkv[1]), qkv[2],
               graph.past("past_state", {heads, delta.key_dim, delta.value_dim}), decay, beta},
              {{"q_num_heads", heads},
               {"kv_num_heads", heads},
               {"update_rule", std::string("gated_delta")}})
          .front();
  const TensorId normed = graph.head_norm("norm", read, heads, delta.value_dim);
  const TensorId z = graph.gated("z", projected[1], projected[1]);  // SiLU
  return graph.linear("out_proj", graph.op("z_product", "Mul", "", {normed, z}).front(),
                      delta.values(), graph.config().hidden, false);
}

// A state per head that decays at the same rate in every token.
TensorId add_lightning(LlmGraphParts& graph, const LlmLayer& layer, TensorId x) {
  const int64_t width = layer.heads * layer.head_dim;
  const TensorId projected = graph.linear("qkv_proj", x, graph.config().hidden, 3 * width, false);
  const auto qkv =
      graph.split("qkv", graph.gated("qkv_silu", projected, projected), {width, width, width});
  const TensorId read =
      graph
          .op("lightning", "LinearAttention", "",
              {qkv[0], qkv[1], qkv[2],
               graph.past("past_state", {layer.heads, layer.head_dim, layer.head_dim})},
              {{"q_num_heads", layer.heads},
               {"kv_num_heads", layer.heads},
               {"update_rule", std::string("gated")}})
          .front();
  const TensorId gate = graph.linear("output_gate", x, graph.config().hidden, width, false);
  return graph.linear("out_proj", graph.gated("output", graph.norm("norm", read, width), gate),
                      width, graph.config().hidden, false);
}

}  // namespace dfsim::inline graphs
