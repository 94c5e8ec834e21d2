// Inspection and prediction of single steps.
#include "serving/llm_predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dfsim::inline serving {

namespace {

constexpr double kNormal80 = 1.2816;  // 10 % and 90 % quantile of the normal distribution

double bytes_of(int64_t parameters, LlmPrecision precision) {
  return static_cast<double>(parameters) * llm_bits_per_weight(precision) / 8;
}

StatusOr<StepPrediction> predict_step(StepCostModel* model, const StepBatch& batch) {
  StepPrediction step;
  DFSIM_ASSIGN_OR_RETURN(step.cost, model->cost(batch));
  DFSIM_ASSIGN_OR_RETURN(step.kernels, model->explain(batch));
  const double ms = static_cast<double>(step.cost.time_ns) * 1e-6;
  step.low_ms = ms * std::exp(-kNormal80 * step.cost.log_sigma);
  step.high_ms = ms * std::exp(kNormal80 * step.cost.log_sigma);
  return step;
}

Status check_sizes(const LlmPredictOptions& options, const LlmMemory& memory) {
  const LlmConfig& config = options.deployment.model;
  if (options.sequences < 1 || options.prompt_tokens < 1 || options.context_tokens < 0) {
    return invalid_input(fmt::format(
        "predict: {} sequences, prompt of {} tokens, context of {}: expected at least 1, 1 and 0",
        options.sequences, options.prompt_tokens, options.context_tokens));
  }
  const int64_t longest = std::max(options.prompt_tokens, options.context_tokens + 1);
  if (longest > config.max_positions) {
    return invalid_input(fmt::format("predict: {} tokens, expected at most the {} that {} supports",
                                     longest, config.max_positions, config.name));
  }
  // Every stage holds its layers' cache of all batches in flight.
  const int64_t batches = options.deployment.parallelism.pp;
  const double wanted = static_cast<double>(options.sequences) * static_cast<double>(batches) *
                        static_cast<double>(options.context_tokens + 1);
  if (wanted > static_cast<double>(memory.cache_tokens)) {
    const std::string each =
        batches > 1 ? fmt::format("{} batches (one per stage) of ", batches) : "";
    return invalid_input(fmt::format(
        "predict: {}{} sequences of {} tokens need {:.0f} cached tokens, but {} fit: {}", each,
        options.sequences, options.context_tokens + 1, wanted, memory.cache_tokens,
        describe_memory(memory)));
  }
  return ok_status();
}

}  // namespace

LlmPrecisions published_precisions(const LlmConfig& config) {
  return {config.published_attention, config.published_mlp, config.published_experts,
          LlmPrecision::kBf16};
}

LlmInspection inspect_llm(const LlmConfig& config, const LlmPrecisions& precisions) {
  LlmInspection result;
  result.name = config.name;
  result.model_type = config.model_type;
  result.left_out = config.left_out;
  result.layers = config.layer_count();
  result.parameters = llm_parameters(config);
  result.active_parameters = llm_active_parameters(config);
  result.flops_per_token = llm_flops(config, 1, 0, 1);
  const LlmParameters& p = result.parameters;
  result.weight_bytes = bytes_of(p.attention, precisions.attention) +
                        bytes_of(p.mlp, precisions.mlp) + bytes_of(p.experts, precisions.experts) +
                        bytes_of(p.embedding + p.lm_head + p.router + p.norms, LlmPrecision::kBf16);
  for (const LlmLayer& layer : config.layers) {
    result.cache_bytes_per_token += static_cast<double>(llm_kv_elements_per_token(config, layer)) *
                                    llm_bits_per_weight(precisions.kv_cache) / 8;
    result.state_elements += llm_state_elements(config, layer) + llm_past_elements(config, layer);
    const auto at = std::find_if(result.groups.begin(), result.groups.end(),
                                 [&](const auto& group) { return group.layer == layer; });
    if (at == result.groups.end()) {
      result.groups.push_back({layer, 1});
    } else {
      ++at->count;
    }
  }
  return result;
}

StatusOr<LlmPrediction> predict_llm(const LlmPredictOptions& options) {
  LlmPrediction result;
  DFSIM_ASSIGN_OR_RETURN(result.memory, llm_memory(options.deployment, options.memory));
  DFSIM_RETURN_IF_ERROR(check_sizes(options, result.memory));
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<StepCostModel> model,
                         make_step_cost_model(options.deployment, options.runtime));
  StepBatch prefill;
  prefill.prefill.push_back({options.prompt_tokens, 0});
  DFSIM_ASSIGN_OR_RETURN(result.prefill, predict_step(model.get(), prefill));
  StepBatch decode;
  decode.decode.assign(static_cast<size_t>(options.sequences), {1, options.context_tokens});
  DFSIM_ASSIGN_OR_RETURN(result.decode, predict_step(model.get(), decode));
  const LlmParallelism& widths = options.deployment.parallelism;
  const int64_t all_ranks = options.sequences * widths.dp;
  result.sequences_in_flight = all_ranks * widths.pp;
  // A batch of every rank ends after each interval of a stage.
  result.decode_tokens_per_s =
      static_cast<double>(all_ranks) * 1e9 / static_cast<double>(result.decode.cost.interval_ns);
  result.notes = model->notes();
  if (std::string note = left_out_text(options.deployment.model); !note.empty()) {
    result.notes.push_back(std::move(note));
  }
  return result;
}

}  // namespace dfsim::inline serving
