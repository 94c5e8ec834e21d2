// Sums the kernels of a step.
//
// Kernels other than attention depend on the step's tokens and its sequences only, so their sums
// are kept by those two numbers: a server's steps repeat them, and what is left per step is
// attention, one interpolation per group of layers.
#include "serving/step_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "serving/attention_cost.h"
#include "serving/step_kernels.h"

namespace dfsim::inline serving {

namespace {

constexpr std::array<const char*, kStepPartCount> kStepPartNames = {
    "gemm", "attention_prefill", "attention_decode", "moe", "comm", "quantize", "memory", "host"};
constexpr size_t kMostCachedSums = 1 << 16;  // about 10 MB

// Times by part in us, with the variance of their sum.
struct PartSums {
  std::array<double, kStepPartCount> us{};
  double variance = 0;

  void add(StepPart part, double time_us, double sigma) {
    us[static_cast<size_t>(part)] += time_us;
    // A kernel that runs in every layer is wrong in all of them alike.
    variance += time_us * time_us * sigma * sigma;
  }
};

struct StepCounts {
  int64_t tokens = 0;      // as computed, padding included
  int64_t all_tokens = 0;  // of all data-parallel ranks, likewise
  int64_t sequences = 0;
  int64_t prompt_tokens = 0;
  bool graph = false;
};

class KernelStepCost : public StepCostModel {
 public:
  KernelStepCost(StepKernels kernels, const ServingRuntime& runtime, int data_parallel)
      : kernels_(std::move(kernels)), runtime_(runtime), data_parallel_(data_parallel) {
    for (const StepKernel& kernel : kernels_.kernels) {
      four_bit_ = four_bit_ || kernel.four_bit;
    }
  }

  StatusOr<StepCost> cost(const StepBatch& batch) override {
    DFSIM_RETURN_IF_ERROR(check(batch));
    const StepCounts counts = count(batch);
    PartSums sums = dense_sums(counts);
    const PrefillShape prefill(batch.prefill);
    const DecodeShape decode(batch.decode, counts.graph ? counts.tokens : 0);
    for (const StepAttention& attention : kernels_.attention) {
      if (!batch.prefill.empty()) {
        sums.add(StepPart::kAttentionPrefill,
                 runtime_.prefill_attention_scale * attention.repeats *
                     prefill_attention_us(attention, prefill),
                 attention.prefill.sigma());
      }
      if (!batch.decode.empty()) {
        sums.add(StepPart::kAttentionDecode,
                 runtime_.decode_attention_scale * attention.repeats *
                     decode_attention_us(attention, decode, kernels_.gpu),
                 attention.decode.sigma());
      }
    }
    return finish(sums, counts);
  }

  StatusOr<std::vector<KernelTime>> explain(const StepBatch& batch) override {
    DFSIM_RETURN_IF_ERROR(check(batch));
    const StepCounts counts = count(batch);
    std::vector<KernelTime> times;
    const PrefillShape prefill(batch.prefill);
    const DecodeShape decode(batch.decode, counts.graph ? counts.tokens : 0);
    auto attention = kernels_.attention.begin();
    for (size_t i = 0; i < kernels_.kernels.size(); ++i) {
      for (; attention != kernels_.attention.end() && attention->before == i; ++attention) {
        if (!batch.prefill.empty()) {
          times.push_back(
              {"prefill_" + attention->name, StepPart::kAttentionPrefill, attention->repeats,
               runtime_.prefill_attention_scale * prefill_attention_us(*attention, prefill),
               attention->group});
        }
        if (!batch.decode.empty()) {
          times.push_back({"decode_" + attention->name, StepPart::kAttentionDecode,
                           attention->repeats,
                           runtime_.decode_attention_scale *
                               decode_attention_us(*attention, decode, kernels_.gpu),
                           attention->group});
        }
      }
      const StepKernel& kernel = kernels_.kernels[i];
      const double prompts =
          counts.prompt_tokens > 0 && kernel.four_bit ? runtime_.moe_prefill_scale : 1;
      times.push_back({kernel.name, kernel.part, kernel.repeats,
                       scale_of(kernel, counts) * prompts * kernel_us(kernel, counts),
                       kernel.group});
    }
    return times;
  }

  const std::vector<std::string>& notes() const override { return kernels_.notes; }

 private:
  static Status check(const StepBatch& batch) {
    if (batch.prefill.empty() && batch.decode.empty()) {
      return invalid_input("step: has no sequences, expected at least one");
    }
    for (const std::vector<SequenceSlice>* slices : {&batch.prefill, &batch.decode}) {
      for (const SequenceSlice& slice : *slices) {
        if (slice.new_tokens < 1 || slice.context_tokens < 0) {
          return invalid_input(fmt::format(
              "step: a sequence has {} new and {} cached tokens, expected at least 1 and 0",
              slice.new_tokens, slice.context_tokens));
        }
      }
    }
    return ok_status();
  }

  StepCounts count(const StepBatch& batch) const {
    StepCounts counts;
    for (const SequenceSlice& slice : batch.prefill) {
      counts.prompt_tokens += slice.new_tokens;
    }
    counts.tokens = counts.prompt_tokens;
    for (const SequenceSlice& slice : batch.decode) {
      counts.tokens += slice.new_tokens;
    }
    counts.sequences = static_cast<int64_t>(batch.prefill.size() + batch.decode.size());
    counts.all_tokens = batch.all_tokens > 0 ? batch.all_tokens : counts.tokens * data_parallel_;
    if (batch.prefill.empty()) {
      counts.graph = graph_size(counts.tokens) > 0;
      counts.tokens = counts.graph ? graph_size(counts.tokens) : counts.tokens;
      // Ranks pad to the graph of the fullest one: they run the same number of experts' rows.
      const int64_t per_rank = (counts.all_tokens + data_parallel_ - 1) / data_parallel_;
      counts.all_tokens = counts.graph
                              ? std::max(counts.all_tokens, graph_size(per_rank) * data_parallel_)
                              : counts.all_tokens;
    }
    return counts;
  }

  // The least batch size with a CUDA graph that holds `tokens`; 0: none does.
  int64_t graph_size(int64_t tokens) const {
    const auto& sizes = runtime_.graph_batches;
    const auto padded = std::lower_bound(sizes.begin(), sizes.end(), tokens);
    return padded == sizes.end() ? 0 : *padded;
  }

  static double units_of(const StepKernel& kernel, const StepCounts& counts) {
    return static_cast<double>(kernel.size == StepSize::kSequences ? counts.sequences
                               : kernel.size == StepSize::kTokens  ? counts.tokens
                                                                   : counts.all_tokens);
  }

  double kernel_us(const StepKernel& kernel, const StepCounts& counts) const {
    const double size = units_of(kernel, counts);
    if (kernel.has_limit) {
      return std::min(kernel.curve.time_us(size),
                      kernel.limit.time_us(size) + runtime_.memory_kernel_us);
    }
    const double moved_us =
        runtime_.memory_kernel_us +
        size * kernel.bytes_per_unit / (kernels_.gpu.bandwidth * runtime_.memory_efficiency);
    if (kernel.part == StepPart::kQuantize) {
      return std::min(kernel.curve.time_us(size), moved_us);
    }
    return kernel.has_curve ? kernel.curve.time_us(size * kernel.factor) : moved_us;
  }

  double scale_of(const StepKernel& kernel, const StepCounts& counts) const {
    switch (kernel.part) {
      case StepPart::kGemm: {
        const double few = kernel.eight_bit ? runtime_.gemm_8bit_scale : runtime_.gemm_scale;
        const double tokens = units_of(kernel, counts);
        const double many = tokens / (tokens + kGemmRidgeTokens);
        return few + (runtime_.gemm_compute_scale - few) * many;
      }
      case StepPart::kMoe:
        return kernel.four_bit ? runtime_.moe_scale : 1;
      case StepPart::kComm:
        return runtime_.comm_scale;
      case StepPart::kQuantize:
        return runtime_.quantize_scale;
      default:
        return 1;
    }
  }

  // All kernels but attention.
  const PartSums& dense_sums(const StepCounts& counts) {
    const uint64_t key = static_cast<uint64_t>(counts.tokens) << 42U |
                         static_cast<uint64_t>(counts.all_tokens & 0x3FFFFF) << 20U |
                         static_cast<uint64_t>(counts.sequences & 0xFFFFF);
    if (const auto at = cache_.find(key); at != cache_.end()) {
      return at->second;
    }
    if (cache_.size() >= kMostCachedSums) {
      cache_.clear();
    }
    PartSums sums;
    for (const StepKernel& kernel : kernels_.kernels) {
      const double sigma = kernel.has_curve ? kernel.curve.sigma() : kMemorySigma;
      sums.add(kernel.part, scale_of(kernel, counts) * kernel.repeats * kernel_us(kernel, counts),
               sigma);
    }
    return cache_.emplace(key, sums).first->second;
  }

  StepCost finish(PartSums sums, const StepCounts& counts) const {
    if (counts.prompt_tokens > 0) {
      sums.us[static_cast<size_t>(StepPart::kMoe)] *= four_bit_ ? runtime_.moe_prefill_scale : 1;
    }
    double device = runtime_.kernel_gap_us * kernels_.launches_per_step;
    for (const double us : sums.us) {
      device += us;
    }
    const bool eager = !counts.graph && !(runtime_.prefill_graphs && counts.prompt_tokens > 0);
    const double launched =
        eager ? std::max(device, runtime_.eager_kernel_us * kernels_.launches_per_step) : device;
    const double host = runtime_.step_us +
                        runtime_.per_sequence_us * static_cast<double>(counts.sequences) +
                        runtime_.per_token_us * static_cast<double>(counts.prompt_tokens);
    double kernels = 0;
    for (const double us : sums.us) {
      kernels += us;
    }
    sums.us[static_cast<size_t>(StepPart::kHost)] += launched - kernels + host;
    StepCost cost;
    for (size_t part = 0; part < sums.us.size(); ++part) {
      cost.split_ns[part] = ns_from_seconds(sums.us[part] * 1e-6);
      cost.time_ns += cost.split_ns[part];
    }
    cost.interval_ns = ns_from_seconds((launched * kernels_.largest_stage_share + host) * 1e-6);
    const double total = launched + host;
    cost.log_sigma =
        std::sqrt(sums.variance / (total * total) + runtime_.log_sigma * runtime_.log_sigma);
    return cost;
  }

  static constexpr double kMemorySigma = 0.2;  // of kernels that no table has
  // Tokens from which the arithmetic of a product takes longer than its weights, on GPUs of 150 to
  // 600 multiply-adds per byte.
  static constexpr double kGemmRidgeTokens = 256;

  StepKernels kernels_;
  ServingRuntime runtime_;
  int64_t data_parallel_;
  bool four_bit_ = false;  // the experts
  std::unordered_map<uint64_t, PartSums> cache_;
};

}  // namespace

const char* step_part_name(StepPart part) { return kStepPartNames[static_cast<size_t>(part)]; }

std::vector<int64_t> default_graph_batches(int64_t largest) {
  std::vector<int64_t> sizes;
  for (const int64_t size : {1, 2, 4}) {
    if (size <= largest) {
      sizes.push_back(size);
    }
  }
  for (int64_t size = 8; size <= largest; size += 8) {
    sizes.push_back(size);
  }
  return sizes;
}

StatusOr<std::unique_ptr<StepCostModel>> make_step_cost_model(const LlmDeployment& deployment,
                                                              const ServingRuntime& runtime) {
  DFSIM_ASSIGN_OR_RETURN(StepKernels kernels, make_step_kernels(deployment, runtime));
  return std::unique_ptr<StepCostModel>(
      std::make_unique<KernelStepCost>(std::move(kernels), runtime, deployment.parallelism.dp));
}

}  // namespace dfsim::inline serving
