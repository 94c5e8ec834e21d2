// Checks of widths, each with the two numbers that do not fit.
#include "serving/deployment_checks.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace dfsim::inline serving {

namespace {

constexpr int kGpusOfAServer = 8;
constexpr std::array<const char*, 3> kFrameworkNames = {"vllm", "trtllm", "sglang"};

Status not_divided(const std::string& what, int64_t count, const std::string& width, int by) {
  return invalid_input(fmt::format("{}: {} cannot be divided by {}={}; choose another width", what,
                                   count, width, by));
}

Status check_layer(const LlmConfig& config, const LlmLayer& layer, const LlmParallelism& widths) {
  const int tp = widths.tp;
  if (layer.heads % tp != 0) {
    return not_divided(config.name + ": attention heads", layer.heads, "tp", tp);
  }
  const bool replicated = tp % layer.kv_heads == 0;  // each GPU holds one head, several the same
  if (layer.attention == LlmAttention::kGrouped && layer.kv_heads % tp != 0 && !replicated) {
    return not_divided(config.name + ": key/value heads", layer.kv_heads, "tp", tp);
  }
  if (layer.dense && layer.intermediate % tp != 0) {
    return not_divided(config.name + ": intermediate size", layer.intermediate, "tp", tp);
  }
  return ok_status();
}

Status check_experts(const LlmConfig& config, const LlmParallelism& widths) {
  const auto [moe_tp, moe_ep] = expert_widths(widths);
  if (config.experts.experts == 0) {
    return widths.moe_ep > 1 ? invalid_input(fmt::format("ep={}: {} has no experts, expected ep=1",
                                                         widths.moe_ep, config.name))
                             : ok_status();
  }
  if (moe_tp * moe_ep != widths.tp * widths.dp) {
    return invalid_input(fmt::format(
        "ep={}: moe_tp * ep is {}, expected tp * dp, {}; experts use all GPUs of attention",
        widths.moe_ep, moe_tp * moe_ep, widths.tp * widths.dp));
  }
  if (config.experts.experts % moe_ep != 0) {
    return not_divided(config.name + ": experts", config.experts.experts, "ep", moe_ep);
  }
  if (config.experts.intermediate % moe_tp != 0) {
    return not_divided(config.name + ": an expert's width", config.experts.intermediate, "moe_tp",
                       moe_tp);
  }
  return ok_status();
}

}  // namespace

std::pair<int, int> expert_widths(const LlmParallelism& widths) {
  const int gpus = widths.tp * widths.dp;
  return {widths.moe_tp > 0 ? widths.moe_tp : std::max(gpus / std::max(widths.moe_ep, 1), 1),
          widths.moe_ep};
}

Status check_deployment(const LlmDeployment& deployment) {
  const LlmParallelism& widths = deployment.parallelism;
  const LlmConfig& config = deployment.model;
  if (widths.tp < 1 || widths.pp < 1 || widths.dp < 1 || widths.moe_ep < 1 || widths.moe_tp < 0) {
    return invalid_input(fmt::format("tp={} pp={} dp={} ep={}: widths must be at least 1",
                                     widths.tp, widths.pp, widths.dp, widths.moe_ep));
  }
  if (widths.tp * widths.dp > kGpusOfAServer) {
    return invalid_input(
        fmt::format("tp={} dp={}: needs {} GPUs in one server, which has {}; use pp across servers",
                    widths.tp, widths.dp, widths.tp * widths.dp, kGpusOfAServer));
  }
  if (widths.pp > config.layer_count()) {
    return invalid_input(fmt::format("pp={}: {} has {} layers, expected at least one per stage",
                                     widths.pp, config.name, config.layer_count()));
  }
  for (const LlmLayer& layer : config.layers) {
    if (layer.is_linear()) {
      return unsupported(
          fmt::format("{}: no measured kernel has the linear attention of {}; use dfsim predict, "
                      "which costs its "
                      "graph",
                      config.name, config.model_type));
    }
    DFSIM_RETURN_IF_ERROR(check_layer(config, layer, widths));
  }
  return check_experts(config, widths);
}

std::string framework_name(LlmFramework framework) {
  return kFrameworkNames[static_cast<size_t>(framework)];
}

StatusOr<LlmFramework> framework_from_name(const std::string& name) {
  for (size_t i = 0; i < kFrameworkNames.size(); ++i) {
    if (name == kFrameworkNames[i]) {
      return static_cast<LlmFramework>(i);
    }
  }
  return not_found(
      unknown_name_message("framework", name, {kFrameworkNames.begin(), kFrameworkNames.end()}));
}

}  // namespace dfsim::inline serving
