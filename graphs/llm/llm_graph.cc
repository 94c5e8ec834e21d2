// Builds the graph layer by layer; shapes of results come from the operators' own rules.
#include "graphs/llm/llm_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graphs/llm/llm_graph_internal.h"
#include "graphs/ops/infer.h"

namespace dfsim::inline graphs {

namespace {

// Keys and values of a layer, for the layers that share them.
struct LayerCache {
  TensorId key, value, past_key, past_value;
};

class LlmGraphBuilder : private LlmGraphParts {
 public:
  using LlmGraphParts::LlmGraphParts;

  StatusOr<Graph> build() {
    graph_.info().name = config_.name;
    graph_.info().producer = "dfsim";
    graph_.info().opsets = {{"", opset_}, {kContribDomain, 1}};
    const TensorId ids = input("input_ids", DType::kInt64, {options_.batch, options_.new_tokens});
    positions_ = input("position_ids", DType::kInt64, {options_.batch, options_.new_tokens});
    const TensorId table = weight("embed_tokens", {config_.vocab, config_.hidden});
    TensorId x = op("embedding", "Gather", "", {table, ids}).front();
    for (size_t i = 0; i < config_.layers.size(); ++i) {
      place_ = fmt::format("layers.{}", i);
      x = add_layer(config_.layers[i], x);
    }
    place_ = "head";
    add_head(x, table);
    DFSIM_RETURN_IF_ERROR(problem_);
    DFSIM_ASSIGN_OR_RETURN(const std::vector<UnresolvedOp> unresolved, infer_shapes(graph_, {}));
    if (!unresolved.empty()) {
      return failed(fmt::format("{}: {} stays without a shape: {}", config_.name,
                                graph_.op(unresolved.front().op).name, unresolved.front().reason));
    }
    return graph_.build();
  }

 private:
  TensorId rotate(const std::string& name, TensorId x, int64_t heads, int64_t d) {
    if (rope_.count(d) == 0) {
      const std::string place = std::exchange(place_, "rope");
      rope_[d] = {weight(fmt::format("cos_{}", d), {config_.max_positions, d / 2}),
                  weight(fmt::format("sin_{}", d), {config_.max_positions, d / 2})};
      place_ = place;
    }
    const auto [cosine, sine] = rope_[d];
    return op(name, "RotaryEmbedding", kContribDomain, {x, positions_, cosine, sine},
              {{"num_heads", heads}})
        .front();
  }

  TensorId add_layer(const LlmLayer& layer, TensorId x) {
    const TensorId normed = norm("input_norm", x, config_.hidden);
    TensorId attended = mixed_tokens(layer, normed);
    if (config_.post_norms) {
      attended = norm("post_attention_norm", attended, config_.hidden);
    }
    TensorId sum = op("attention_residual", "Add", "", {x, attended}).front();
    const TensorId block = config_.parallel_blocks ? normed : norm("mlp_norm", sum, config_.hidden);
    std::vector<TensorId> results;
    if (layer.dense) {
      results.push_back(mlp("mlp", block, layer.intermediate));
    }
    if (layer.moe) {
      results.push_back(experts(block));
      if (config_.experts.shared_intermediate > 0) {
        results.push_back(shared_expert(block));
      }
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const bool last = i + 1 == results.size();
      const TensorId result = last && config_.post_norms
                                  ? norm("post_mlp_norm", results[i], config_.hidden)
                                  : results[i];
      sum = op(fmt::format("mlp_residual{}", i == 0 ? "" : std::to_string(i)), "Add", "",
               {sum, result})
                .front();
    }
    return sum;
  }

  TensorId mixed_tokens(const LlmLayer& layer, TensorId x) {
    switch (layer.attention) {
      case LlmAttention::kLatent:
        return latent_attention(layer, x);
      case LlmAttention::kGatedDelta:
        return add_gated_delta(*this, x);
      case LlmAttention::kLightning:
        return add_lightning(*this, layer, x);
      default:
        return attention(layer, x);
    }
  }

  // Keys that a query of the cache can still see.
  int64_t cached(const LlmLayer& layer) const {
    return layer.window > 0 ? std::min(options_.context_tokens, layer.window - 1)
                            : options_.context_tokens;
  }

  TensorId attention(const LlmLayer& layer, TensorId x) {
    const int64_t d = layer.head_dim;
    const int64_t hidden = config_.hidden;
    const int64_t width = layer.heads * d;
    TensorId q =
        linear("q_proj", x, hidden, width * (config_.attention_gate ? 2 : 1), config_.qkv_bias);
    TensorId gate;
    if (config_.attention_gate) {
      const std::vector<TensorId> halves = split("q_gate", q, {width, width});
      q = halves[0];
      gate = halves[1];
    }
    q = config_.qk_norm ? head_norm("q_norm", q, layer.heads, d) : q;
    q = rotate("q_rope", q, layer.heads, d);
    LayerCache& cache = caches_[layer.window];
    if (!layer.shares_kv) {
      TensorId k = linear("k_proj", x, hidden, layer.kv_heads * d, config_.qkv_bias);
      cache.value = layer.value_is_key
                        ? k
                        : linear("v_proj", x, hidden, layer.kv_heads * d, config_.qkv_bias);
      k = config_.qk_norm ? head_norm("k_norm", k, layer.kv_heads, d) : k;
      cache.key = rotate("k_rope", k, layer.kv_heads, d);
      cache.past_key = cache.past_value = TensorId();
      if (cached(layer) > 0) {
        const std::vector<int64_t> shape = {options_.batch, layer.kv_heads, cached(layer), d};
        cache.past_key = input("past_key", options_.dtype, shape);
        cache.past_value = input("past_value", options_.dtype, shape);
      }
    }
    TensorId mixed = op("attention", "GroupQueryAttention", kContribDomain,
                        {q, cache.key, cache.value, cache.past_key, cache.past_value},
                        {{"num_heads", layer.heads}, {"kv_num_heads", layer.kv_heads}})
                         .front();
    if (gate.valid()) {
      mixed = gated("attention", mixed, gate);
    }
    return linear("o_proj", mixed, width, hidden, config_.o_bias);
  }

  TensorId latent_attention(const LlmLayer& layer, TensorId x) {
    const LlmLatent& latent = config_.latent;
    const int64_t qk = layer.head_dim + latent.rope_head_dim;
    const int64_t keys = options_.context_tokens + options_.new_tokens;
    TensorId q = x;
    int64_t q_inputs = config_.hidden;
    if (latent.q_lora_rank > 0) {
      q = linear("q_a_proj", x, config_.hidden, latent.q_lora_rank, config_.qkv_bias);
      q = norm("q_a_norm", q, latent.q_lora_rank);
      q_inputs = latent.q_lora_rank;
    }
    q = linear("q_b_proj", q, q_inputs, layer.heads * qk, false);
    q = rotate("q_rope", q, layer.heads, qk);
    // The rotary key stays next to the latent; both are cached.
    const int64_t width = latent.kv_lora_rank + latent.rope_head_dim;
    TensorId c = linear("kv_a_proj", x, config_.hidden, width, config_.qkv_bias);
    if (options_.context_tokens > 0) {
      const TensorId past =
          input("past_latent", options_.dtype, {options_.batch, options_.context_tokens, width});
      c = op("latent_cache", "Concat", "", {past, c}, {{"axis", int64_t{1}}}).front();
    }
    const std::vector<TensorId> parts =
        op("latent_split", "Split", "",
           {c, integers("latent_widths", {latent.kv_lora_rank, latent.rope_head_dim})},
           {{"axis", int64_t{2}}}, 2);
    const TensorId inner = norm("kv_a_norm", parts[0], latent.kv_lora_rank);
    const TensorId k =
        linear("k_b_proj", inner, latent.kv_lora_rank, layer.heads * layer.head_dim, false);
    const TensorId v =
        linear("v_b_proj", inner, latent.kv_lora_rank, layer.heads * latent.v_head_dim, false);
    // Every head's key ends in the one rotary key.
    const TensorId shared =
        op("rope_key_heads", "Expand", "",
           {op("rope_key_apart", "Unsqueeze", "", {parts[1], integers("rope_axis", {2})}).front(),
            integers("rope_shape", {options_.batch, keys, layer.heads, latent.rope_head_dim})})
            .front();
    const TensorId apart = op("keys_apart", "Reshape", "",
                              {k, integers("key_heads", {0, 0, layer.heads, layer.head_dim})})
                               .front();
    const TensorId whole =
        op("keys", "Concat", "", {apart, shared}, {{"axis", int64_t{3}}}).front();
    const TensorId flat =
        op("keys_flat", "Reshape", "", {whole, integers("key_flat", {0, 0, layer.heads * qk})})
            .front();
    const TensorId mixed = op("attention", "MultiHeadAttention", kContribDomain, {q, flat, v},
                              {{"num_heads", layer.heads}})
                               .front();
    return linear("o_proj", mixed, layer.heads * latent.v_head_dim, config_.hidden, config_.o_bias);
  }

  TensorId mlp(const std::string& name, TensorId x, int64_t width) {
    const bool bias = config_.mlp_bias;
    const TensorId up = linear(name + ".up_proj", x, config_.hidden, width, bias);
    TensorId inner = up;
    if (config_.activation == LlmActivation::kGelu) {
      inner = op(name + ".gelu", "Gelu", kContribDomain, {up}).front();
    } else {
      const TensorId gate = linear(name + ".gate_proj", x, config_.hidden, width, bias);
      TensorId open = TensorId();
      if (config_.activation == LlmActivation::kGeGlu) {
        open = op(name + ".gelu", "Gelu", kContribDomain, {gate}).front();
      } else {
        const TensorId share = op(name + ".sigmoid", "Sigmoid", "", {gate}).front();
        open = op(name + ".silu", "Mul", "", {gate, share}).front();
      }
      inner = op(name + ".gated", "Mul", "", {open, up}).front();
    }
    return linear(name + ".down_proj", inner, width, config_.hidden, bias);
  }

  TensorId shared_expert(TensorId x) {
    const TensorId y = mlp("shared_expert", x, config_.experts.shared_intermediate);
    return config_.experts.shared_gate
               ? gated("shared_expert", y,
                       linear("shared_expert_gate", x, config_.hidden, 1, false))
               : y;
  }

  TensorId experts(TensorId x) {
    const LlmExperts& e = config_.experts;
    const TensorId scores = linear("router", x, config_.hidden, e.experts, e.biases);
    const TensorId rows =
        op("router_rows", "Reshape", "", {scores, integers("router_flat", {-1, e.experts})})
            .front();
    const auto bias = [&](const std::string& name, int64_t width) {
      return e.biases ? weight(name, {e.experts, width}) : TensorId();
    };
    const int64_t inner = e.intermediate;
    return op("experts", "MoE", kContribDomain,
              {x, rows, weight("experts.gate", {e.experts, config_.hidden, inner}),
               bias("experts.gate_bias", inner),
               weight("experts.down", {e.experts, inner, config_.hidden}),
               bias("experts.down_bias", config_.hidden),
               weight("experts.up", {e.experts, config_.hidden, inner}),
               bias("experts.up_bias", inner)},
              {{"k", e.per_token}})
        .front();
  }

  void add_head(TensorId x, TensorId table) {
    if (options_.new_tokens > 1) {  // only the last token's logits are wanted
      x = op("last_token", "Gather", "", {x, integers("last", {options_.new_tokens - 1})},
             {{"axis", int64_t{1}}})
              .front();
    }
    x = norm("final_norm", x, config_.hidden);
    const TensorId matrix = weight("lm_head.weight", {config_.hidden, config_.vocab});
    if (config_.tied_embeddings) {
      graph_.tensor(table).storage_key = 1;  // the same bytes, seen transposed
      graph_.tensor(matrix).storage_key = 1;
    }
    TensorId logits = op("lm_head", "MatMul", "", {x, matrix}).front();
    if (config_.lm_head_bias) {
      logits =
          op("lm_head_bias", "Add", "", {logits, weight("lm_head.bias", {config_.vocab})}).front();
    }
    graph_.mark_output(logits);
  }

  TensorId positions_;
  std::map<int64_t, std::pair<TensorId, TensorId>> rope_;  // by head dimension
  std::map<int64_t, LayerCache> caches_;                   // by window: the last layer that has one
};

}  // namespace

StatusOr<Graph> build_llm_graph(const LlmConfig& config, const LlmGraphOptions& options) {
  const int64_t tokens = options.new_tokens + options.context_tokens;
  if (options.batch < 1 || options.new_tokens < 1 || options.context_tokens < 0 ||
      options.batch > kMaxExtent || tokens > config.max_positions) {
    return invalid_input(fmt::format(
        "{}: batch {}, {} new and {} cached tokens: expected at least 1, 1 and 0 and at most the "
        "model's {} positions",
        config.name, options.batch, options.new_tokens, options.context_tokens,
        config.max_positions));
  }
  if (config.per_layer_hidden > 0) {
    return unsupported(fmt::format(
        "{}: per-layer embeddings (hidden_size_per_layer_input {}) have no graph; use dfsim llm "
        "predict, which costs them as kernels",
        config.name, config.per_layer_hidden));
  }
  return LlmGraphBuilder(config, options).build();
}

}  // namespace dfsim::inline graphs
