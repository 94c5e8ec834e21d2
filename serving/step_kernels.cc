// Which kernels a deployment runs: one LayerKernels per group of layers that are alike.
//
// Tensor parallelism as all three frameworks do it: q, k, v, gate and up are split by columns, o
// and down by rows, each pair ending in an all-reduce; heads of the cache are replicated once there
// are fewer of them than GPUs; the vocabulary is padded to a multiple of 64 per GPU and its logits
// are gathered. Norms with their residual add, RoPE with the write to the cache, and the activation
// are one kernel each, as the frameworks fuse them.
#include "serving/step_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "serving/deployment_checks.h"
#include "serving/kernels/serving_system.h"

namespace dfsim::inline serving {

namespace {

constexpr double kElementBytes = 2;  // activations outside products are bf16
constexpr int64_t kVocabMultiple = 64;

// As the tables name precisions of dense products.
std::string gemm_category(LlmPrecision precision) {
  switch (precision) {
    case LlmPrecision::kFp8:
      return "fp8";
    case LlmPrecision::kFp8Block:
      return "fp8_block";
    case LlmPrecision::kInt8:
      return "int8_wo";
    case LlmPrecision::kInt4:
      return "int4_wo";
    case LlmPrecision::kMxfp4:
      return "w4a16_mxfp4";
    case LlmPrecision::kNvfp4:
      return "nvfp4";
    case LlmPrecision::kBf16:
    case LlmPrecision::kFp16:
      break;
  }
  return "bfloat16";
}

std::string cache_dtype(LlmPrecision precision) {
  return precision == LlmPrecision::kFp8 || precision == LlmPrecision::kFp8Block ? "fp8"
                                                                                 : "bfloat16";
}

class StepKernelBuilder {
 public:
  StepKernelBuilder(const LlmDeployment& deployment, const ServingRuntime& runtime,
                    KernelLibrary library, const ServingSystem& system)
      : deployment_(deployment),
        config_(deployment.model),
        widths_(deployment.parallelism),
        runtime_(runtime),
        library_(std::move(library)),
        system_(system) {}

  StatusOr<StepKernels> build() {
    result_.gpu = library_.gpu();
    add_embedding();
    for (const auto& [layer, count] : groups()) {
      repeats_ = static_cast<double>(count);
      ++group_;
      const size_t first_kernel = result_.kernels.size();
      const size_t first_attention = result_.attention.size();
      DFSIM_RETURN_IF_ERROR(add_layer(layer));
      for (size_t i = first_kernel; i < result_.kernels.size(); ++i) {
        result_.kernels[i].group = group_;
      }
      for (size_t i = first_attention; i < result_.attention.size(); ++i) {
        result_.attention[i].group = group_;
      }
    }
    repeats_ = 1;
    DFSIM_RETURN_IF_ERROR(add_head());
    result_.largest_stage_share =
        static_cast<double>(largest_stage()) / static_cast<double>(config_.layer_count());
    for (const StepKernel& kernel : result_.kernels) {
      result_.launches_per_step += kernel.repeats;
    }
    for (const StepAttention& attention : result_.attention) {
      result_.launches_per_step += attention.repeats;
    }
    result_.notes = config_.notes;
    result_.notes.insert(result_.notes.end(), library_.notes().begin(), library_.notes().end());
    result_.notes.insert(result_.notes.end(), notes_.begin(), notes_.end());
    return std::move(result_);
  }

 private:
  // Layers that are alike, with how many there are, in order of first appearance.
  std::vector<std::pair<LlmLayer, int64_t>> groups() const {
    std::vector<std::pair<LlmLayer, int64_t>> found;
    for (const LlmLayer& layer : config_.layers) {
      const auto at = std::find_if(found.begin(), found.end(),
                                   [&](const auto& group) { return group.first == layer; });
      if (at == found.end()) {
        found.emplace_back(layer, 1);
      } else {
        ++at->second;
      }
    }
    return found;
  }
  int64_t largest_stage() const { return (config_.layer_count() + widths_.pp - 1) / widths_.pp; }

  void add_memory(const std::string& name, double bytes_per_token,
                  StepSize size = StepSize::kTokens) {
    StepKernel kernel;
    kernel.name = name;
    kernel.part = StepPart::kMemory;
    kernel.size = size;
    kernel.repeats = repeats_;
    kernel.has_curve = false;
    kernel.bytes_per_unit = bytes_per_token;
    result_.kernels.push_back(std::move(kernel));
  }

  Status add_curve(const std::string& name, StepPart part, KernelKind kind,
                   const std::string& category, const std::vector<double>& anchor, double factor,
                   StepSize size = StepSize::kTokens) {
    StepKernel kernel;
    kernel.name = name;
    kernel.part = part;
    kernel.size = size;
    kernel.repeats = repeats_;
    kernel.factor = factor;
    DFSIM_ASSIGN_OR_RETURN(kernel.curve, library_.curve(kind, category, anchor));
    result_.kernels.push_back(std::move(kernel));
    return ok_status();
  }

  Status add_gemm(const std::string& name, LlmPrecision precision, int64_t n, int64_t k,
                  StepSize size = StepSize::kTokens) {
    const std::string category = gemm_category(precision);
    const std::vector<double> depth = {static_cast<double>(k)};
    if (category == "fp8" && library_.has(KernelKind::kScaleMatrix, "fp8")) {
      DFSIM_RETURN_IF_ERROR(add_curve("quantize_" + name, StepPart::kQuantize,
                                      KernelKind::kScaleMatrix, "fp8", depth, 1, size));
      // Reads 16-bit numbers, writes 8-bit ones.
      result_.kernels.back().bytes_per_unit = 3 * depth[0];
    }
    DFSIM_RETURN_IF_ERROR(add_curve(name, StepPart::kGemm, KernelKind::kGemm, category,
                                    {static_cast<double>(n), static_cast<double>(k)}, 1, size));
    StepKernel& product = result_.kernels.back();
    product.eight_bit = category.starts_with("fp8");
    product.has_limit = product.eight_bit && library_.has(KernelKind::kGemm, "bfloat16");
    if (product.has_limit) {
      DFSIM_ASSIGN_OR_RETURN(product.limit,
                             library_.curve(KernelKind::kGemm, "bfloat16",
                                            {static_cast<double>(n), static_cast<double>(k)}));
    }
    return ok_status();
  }

  Status add_all_reduce(const std::string& name, double bytes_per_token, int gpus,
                        StepSize size = StepSize::kTokens) {
    if (gpus == 1) {
      return ok_status();
    }
    const bool own = system_.custom_all_reduce && library_.has(KernelKind::kAllReduce, "graph");
    return add_curve(name, StepPart::kComm, own ? KernelKind::kAllReduce : KernelKind::kCollective,
                     own ? "graph" : "all_reduce", {static_cast<double>(gpus)}, bytes_per_token,
                     size);
  }

  double hidden_bytes() const { return static_cast<double>(config_.hidden) * kElementBytes; }

  void add_embedding() {
    add_memory("embedding", 2 * hidden_bytes());
    // A split vocabulary leaves each GPU with part of the rows, added up by an all-reduce.
    embedding_reduced_ = add_all_reduce("embedding_all_reduce", hidden_bytes(), widths_.tp);
  }

  Status add_layer(const LlmLayer& layer) {
    DFSIM_RETURN_IF_ERROR(embedding_reduced_);
    add_memory("attention_norm", 4 * hidden_bytes());
    DFSIM_RETURN_IF_ERROR(layer.attention == LlmAttention::kLatent ? add_latent_attention(layer)
                                                                   : add_attention(layer));
    DFSIM_RETURN_IF_ERROR(add_all_reduce("attention_all_reduce", hidden_bytes(), widths_.tp));
    if (config_.post_norms) {
      add_memory("post_attention_norm", 2 * hidden_bytes());
    }
    if (!config_.parallel_blocks) {
      add_memory("mlp_norm", 4 * hidden_bytes());
    }
    if (layer.dense) {
      DFSIM_RETURN_IF_ERROR(add_mlp("", layer.intermediate, true));
    }
    if (layer.moe) {
      DFSIM_RETURN_IF_ERROR(add_experts());
    }
    if (config_.post_norms) {
      add_memory("post_mlp_norm", 2 * hidden_bytes());
    }
    if (config_.per_layer_hidden > 0) {
      DFSIM_RETURN_IF_ERROR(add_gemm("per_layer_gate", LlmPrecision::kBf16,
                                     config_.per_layer_hidden, config_.hidden));
      DFSIM_RETURN_IF_ERROR(add_gemm("per_layer_projection", LlmPrecision::kBf16, config_.hidden,
                                     config_.per_layer_hidden));
      add_memory("per_layer_norm", 4 * hidden_bytes());
    }
    return ok_status();
  }

  Status add_attention(const LlmLayer& layer) {
    const int64_t heads = layer.heads / widths_.tp;
    const int64_t kv_heads = std::max<int64_t>(layer.kv_heads / widths_.tp, 1);
    const int64_t d = layer.head_dim;
    const int64_t own = layer.shares_kv ? 0 : layer.value_is_key ? 1 : 2;
    DFSIM_RETURN_IF_ERROR(add_gemm("qkv", deployment_.precisions.attention,
                                   (heads + own * kv_heads) * d, config_.hidden));
    const auto rotated = static_cast<double>((heads + kv_heads) * d) * kElementBytes;
    if (config_.qk_norm) {
      add_memory("qk_norm", 2 * rotated);
    }
    add_memory("rope_and_cache", 2 * rotated + static_cast<double>(kv_heads * d) * kElementBytes);
    StepAttention attention;
    attention.name = layer.window > 0 ? "window_attention" : "attention";
    attention.repeats = repeats_;
    attention.window = static_cast<double>(layer.window);
    DFSIM_RETURN_IF_ERROR(find_attention_curves(d, heads, kv_heads, &attention));
    attention.before = result_.kernels.size();
    result_.attention.push_back(std::move(attention));
    return add_gemm("o", deployment_.precisions.attention, config_.hidden, heads * d);
  }

  // The category for prompts, or for decodes, with this window; "" when there is none.
  std::string attention_kernels(KernelKind kind, int64_t d, int64_t window) const {
    const std::string cache = cache_dtype(deployment_.precisions.kv_cache);
    std::vector<std::string> queries = {"bfloat16"};
    if (kind == KernelKind::kPrefillAttention && cache == "fp8") {
      // Engines that can multiply in fp8 do so when the projections are fp8, too.
      const bool fp8 = cache_dtype(deployment_.precisions.attention) == "fp8";
      queries.insert(fp8 ? queries.begin() : queries.end(), "fp8");
    }
    for (const std::string& query : queries) {
      std::string category = attention_category(query, cache, d, window);
      if (library_.has(kind, category)) {
        return category;
      }
    }
    return "";
  }

  Status find_attention_curves(int64_t d, int64_t heads, int64_t kv_heads,
                               StepAttention* attention) {
    const auto window = static_cast<int64_t>(attention->window);
    const std::vector<double> anchor = {static_cast<double>(heads), static_cast<double>(kv_heads)};
    attention->window_in_curves =
        window > 0 && !attention_kernels(KernelKind::kPrefillAttention, d, window).empty() &&
        !attention_kernels(KernelKind::kDecodeAttention, d, window).empty();
    const int64_t measured = attention->window_in_curves ? window : 0;
    for (const KernelKind kind : {KernelKind::kPrefillAttention, KernelKind::kDecodeAttention}) {
      const std::string category = attention_kernels(kind, d, measured);
      // An empty category makes the library say which ones there are.
      const std::string wanted =
          category.empty()
              ? attention_category("bfloat16", cache_dtype(deployment_.precisions.kv_cache), d, 0)
              : category;
      DFSIM_ASSIGN_OR_RETURN(KernelCurve curve, library_.curve(kind, wanted, anchor));
      (kind == KernelKind::kPrefillAttention ? attention->prefill : attention->decode) =
          std::move(curve);
    }
    return ok_status();
  }

  // MLA: prompts attend with full heads, decodes in the latent space ("absorbed" projections).
  Status add_latent_attention(const LlmLayer& layer) {
    const LlmLatent& latent = config_.latent;
    const int64_t heads = layer.heads / widths_.tp;
    const int64_t qk = layer.head_dim + latent.rope_head_dim;
    const int64_t cached = latent.kv_lora_rank + latent.rope_head_dim;
    const LlmPrecision precision = deployment_.precisions.attention;
    const bool low_rank = latent.q_lora_rank > 0;
    DFSIM_RETURN_IF_ERROR(
        add_gemm("qkv_a", precision, latent.q_lora_rank + cached, config_.hidden));
    add_memory("latent_norms",
               static_cast<double>(latent.q_lora_rank + cached) * 2 * kElementBytes);
    DFSIM_RETURN_IF_ERROR(
        add_gemm("q_b", precision, heads * qk, low_rank ? latent.q_lora_rank : config_.hidden));
    DFSIM_RETURN_IF_ERROR(add_gemm("kv_b", precision, heads * (layer.head_dim + latent.v_head_dim),
                                   latent.kv_lora_rank));
    add_memory("rope_and_cache", static_cast<double>(heads * qk + 2 * cached) * kElementBytes);
    StepAttention attention;
    attention.name = "latent_attention";
    attention.repeats = repeats_;
    attention.has_curves = false;
    const auto width = static_cast<double>(cached);
    attention.decode_bytes_per_key =
        width * (cache_dtype(deployment_.precisions.kv_cache) == "fp8" ? 1 : 2);
    attention.decode_flops_per_key =
        2 * static_cast<double>(heads) * (width + static_cast<double>(latent.kv_lora_rank));
    const std::vector<double> anchor(2, static_cast<double>(heads));
    DFSIM_ASSIGN_OR_RETURN(
        attention.prefill,
        library_.curve(KernelKind::kPrefillAttention,
                       attention_category("bfloat16", "bfloat16", qk, 0), anchor));
    attention.before = result_.kernels.size();
    result_.attention.push_back(std::move(attention));
    return add_gemm("o", precision, config_.hidden, heads * latent.v_head_dim);
  }

  Status add_mlp(const std::string& prefix, int64_t width, bool reduce) {
    const int64_t local = width / widths_.tp;
    const bool gated = config_.activation != LlmActivation::kGelu;
    const LlmPrecision precision = deployment_.precisions.mlp;
    DFSIM_RETURN_IF_ERROR(add_gemm(prefix + (gated ? "gate_up" : "up"), precision,
                                   (gated ? 2 : 1) * local, config_.hidden));
    add_memory(prefix + "activation", static_cast<double>(local) * (gated ? 3 : 2) * kElementBytes);
    DFSIM_RETURN_IF_ERROR(add_gemm(prefix + "down", precision, config_.hidden, local));
    return reduce ? add_all_reduce(prefix + "mlp_all_reduce", hidden_bytes(), widths_.tp)
                  : ok_status();
  }

  // The experts' kernels, or those of the other fp8 scaling where only that was measured: the same
  // arithmetic and the same bytes.
  std::string expert_category() {
    const LlmPrecision precision = deployment_.precisions.experts;
    const auto category = [&](LlmPrecision p) {
      return fmt::format("{}/{}", gemm_category(p), runtime_.expert_distribution);
    };
    const LlmPrecision other = precision == LlmPrecision::kFp8        ? LlmPrecision::kFp8Block
                               : precision == LlmPrecision::kFp8Block ? LlmPrecision::kFp8
                                                                      : precision;
    if (library_.has(KernelKind::kMoe, category(precision)) ||
        !library_.has(KernelKind::kMoe, category(other))) {
      return category(precision);
    }
    notes_.push_back(
        fmt::format("moe {}: not measured, kernels of {}", category(precision), category(other)));
    return category(other);
  }

  Status add_experts() {
    const LlmExperts& experts = config_.experts;
    const auto [moe_tp, moe_ep] = expert_widths(widths_);
    DFSIM_RETURN_IF_ERROR(add_gemm("router", LlmPrecision::kBf16, experts.experts, config_.hidden));
    add_memory("top_k", static_cast<double>(experts.experts) * 2 * kElementBytes);
    if (experts.shared_intermediate > 0) {
      DFSIM_RETURN_IF_ERROR(add_mlp("shared_", experts.shared_intermediate, false));
    }
    const bool spread = widths_.dp > 1;  // every rank's tokens go to all experts and come back
    const auto ranks = static_cast<double>(widths_.dp);
    if (spread) {
      DFSIM_RETURN_IF_ERROR(add_curve("dispatch", StepPart::kComm, KernelKind::kCollective,
                                      "all_gather", {ranks}, hidden_bytes(),
                                      StepSize::kGlobalTokens));
    }
    const std::vector<double> anchor = {
        static_cast<double>(config_.hidden), static_cast<double>(experts.intermediate) / moe_tp,
        static_cast<double>(experts.per_token), static_cast<double>(experts.experts) / moe_ep,
        static_cast<double>(experts.experts)};
    const std::string category = expert_category();
    DFSIM_RETURN_IF_ERROR(add_curve("experts", StepPart::kMoe, KernelKind::kMoe, category, anchor,
                                    1, StepSize::kGlobalTokens));
    StepKernel& kernel = result_.kernels.back();
    kernel.four_bit = category.starts_with("w4a16_mxfp4");
    const std::string wide = fmt::format("bfloat16/{}", runtime_.expert_distribution);
    kernel.has_limit = category.starts_with("fp8/") && library_.has(KernelKind::kMoe, wide);
    if (kernel.has_limit) {
      DFSIM_ASSIGN_OR_RETURN(kernel.limit, library_.curve(KernelKind::kMoe, wide, anchor));
    }
    if (spread) {
      DFSIM_RETURN_IF_ERROR(add_curve("combine", StepPart::kComm, KernelKind::kCollective,
                                      "reduce_scatter", {ranks}, hidden_bytes(),
                                      StepSize::kGlobalTokens));
    }
    return add_all_reduce("experts_all_reduce", hidden_bytes(), widths_.tp);
  }

  Status add_head() {
    add_memory("final_norm", 4 * hidden_bytes());
    const int64_t unit = kVocabMultiple * widths_.tp;
    const int64_t vocab = (config_.vocab + unit - 1) / unit * kVocabMultiple;
    DFSIM_RETURN_IF_ERROR(
        add_gemm("lm_head", LlmPrecision::kBf16, vocab, config_.hidden, StepSize::kSequences));
    if (widths_.tp > 1) {
      DFSIM_RETURN_IF_ERROR(add_curve("logits_all_gather", StepPart::kComm, KernelKind::kCollective,
                                      "all_gather", {static_cast<double>(widths_.tp)},
                                      static_cast<double>(vocab * widths_.tp) * kElementBytes,
                                      StepSize::kSequences));
    }
    // Logits are widened to fp32, searched, and a token is drawn.
    add_memory("sampling", static_cast<double>(config_.vocab) * 12, StepSize::kSequences);
    if (widths_.pp > 1) {
      repeats_ = widths_.pp - 1;
      DFSIM_RETURN_IF_ERROR(add_curve("stage_send", StepPart::kComm, KernelKind::kCollective,
                                      "all_gather", {2.0}, hidden_bytes()));
      repeats_ = 1;
    }
    return ok_status();
  }

  const LlmDeployment& deployment_;
  const LlmConfig& config_;
  const LlmParallelism& widths_;
  const ServingRuntime& runtime_;
  KernelLibrary library_;
  ServingSystem system_;
  Status embedding_reduced_;
  StepKernels result_;
  std::vector<std::string> notes_;  // of kernels that replace others
  double repeats_ = 1;
  int group_ = -1;
};

}  // namespace

StatusOr<StepKernels> make_step_kernels(const LlmDeployment& deployment,
                                        const ServingRuntime& runtime) {
  DFSIM_RETURN_IF_ERROR(check_deployment(deployment));
  DFSIM_ASSIGN_OR_RETURN(const ServingSystem system, find_serving_system(deployment.system));
  DFSIM_ASSIGN_OR_RETURN(
      KernelLibrary library,
      KernelLibrary::open(std::string(system.name), framework_name(deployment.framework),
                          deployment.version));
  return StepKernelBuilder(deployment, runtime, std::move(library), system).build();
}

}  // namespace dfsim::inline serving
