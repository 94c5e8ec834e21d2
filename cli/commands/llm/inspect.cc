// dfsim llm inspect: a model in numbers.
#include <fmt/format.h>

#include <memory>

#include "base/json/json_tree.h"
#include "base/text_table.h"
#include "base/units.h"
#include "cli/commands/llm/llm_commands.h"
#include "cli/terminal_text.h"
#include "serving/llm_predict.h"

namespace dfsim::cli {
namespace {

struct LlmInspectOptions {
  LlmModelOptions model;
  std::string output = "-";
  bool json = false;
};

std::string feed_forward_text(const LlmConfig& config, const LlmLayer& layer) {
  const std::string dense = layer.dense ? fmt::format("dense {}", layer.intermediate) : "";
  if (!layer.moe) {
    return dense;
  }
  return fmt::format("{}{} experts of {}, {} a token", dense.empty() ? "" : dense + " and ",
                     config.experts.experts, config.experts.intermediate, config.experts.per_token);
}

std::string llm_inspection_text(const LlmConfig& config, const LlmInspection& r) {
  std::string text =
      fmt::format("{} ({}): {} layers, hidden size {}, vocabulary {}, {} positions\n\n", r.name,
                  r.model_type, r.layers, config.hidden, config.vocab, config.max_positions);
  TextTable parameters({{"parameters"}, {"number", Align::kRight}});
  const auto add = [&](const char* name, int64_t count) {
    parameters.add_row({name, fmt::format("{}", count)});
  };
  add("embedding", r.parameters.embedding);
  add("lm_head", r.parameters.lm_head);
  add("attention", r.parameters.attention);
  add("dense blocks", r.parameters.mlp);
  add("experts", r.parameters.experts);
  add("routers", r.parameters.router);
  add("norms", r.parameters.norms);
  add("total", r.parameters.total());
  add("used by a token", r.active_parameters);
  TextTable layers({{"layers", Align::kRight},
                    {"attention"},
                    {"heads", Align::kRight},
                    {"kv heads", Align::kRight},
                    {"head size", Align::kRight},
                    {"window", Align::kRight},
                    {"feed forward"}});
  for (const LlmInspection::LayerGroup& group : r.groups) {
    const LlmLayer& layer = group.layer;
    layers.add_row({fmt::format("{}", group.count),
                    layer.attention == LlmAttention::kLatent ? "latent" : "grouped",
                    fmt::format("{}", layer.heads), fmt::format("{}", layer.kv_heads),
                    fmt::format("{}", layer.head_dim),
                    layer.window > 0 ? fmt::format("{}", layer.window) : "-",
                    feed_forward_text(config, layer)});
  }
  return text + parameters.render() + "\n" + layers.render() +
         fmt::format("\n{} of weights, {} of cache and {} per token\n",
                     format_bytes(static_cast<Bytes>(r.weight_bytes)),
                     format_bytes(static_cast<Bytes>(r.cache_bytes_per_token)),
                     format_count(r.flops_per_token, "FLOP"));
}

JsonTree llm_inspection_json(const LlmInspection& r) {
  JsonTree groups = JsonTree::array();
  for (const LlmInspection::LayerGroup& group : r.groups) {
    groups.push_back(
        {{"layers", group.count},
         {"attention", group.layer.attention == LlmAttention::kLatent ? "latent" : "grouped"},
         {"heads", group.layer.heads},
         {"kv_heads", group.layer.kv_heads},
         {"head_dim", group.layer.head_dim},
         {"window", group.layer.window},
         {"intermediate", group.layer.intermediate},
         {"experts", group.layer.moe}});
  }
  return {{"schema", "dfsim.llm-inspect/1"},
          {"name", r.name},
          {"model_type", r.model_type},
          {"parameters",
           {{"embedding", r.parameters.embedding},
            {"lm_head", r.parameters.lm_head},
            {"attention", r.parameters.attention},
            {"mlp", r.parameters.mlp},
            {"experts", r.parameters.experts},
            {"router", r.parameters.router},
            {"norms", r.parameters.norms},
            {"total", r.parameters.total()},
            {"active", r.active_parameters}}},
          {"flops_per_token", r.flops_per_token},
          {"weight_bytes", r.weight_bytes},
          {"cache_bytes_per_token", r.cache_bytes_per_token},
          {"layer_groups", std::move(groups)}};
}

Status run_llm_inspect(const LlmInspectOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const LlmDeployment deployment, llm_deployment(options.model, {}));
  const LlmInspection result = inspect_llm(deployment.model, deployment.precisions);
  return write_result(options.output,
                      options.json ? llm_inspection_json(result).text()
                                   : fit_lines(llm_inspection_text(deployment.model, result)));
}

}  // namespace

CommandSpec llm_inspect_command() {
  const auto options = std::make_shared<LlmInspectOptions>();
  return {.name = "inspect",
          .summary = "Parameters, FLOPs, weights and cache of a language model",
          .options = joined(
              {llm_model_options(options->model),
               {{.names = "--json", .target = &options->json, .help = "JSON instead of text"},
                {.names = "-o,--output",
                 .target = &options->output,
                 .help = "Write to this file; - is stdout",
                 .show_default = true}}}),
          .examples = {{"dfsim llm inspect config.json", "parameters, FLOPs and cache of a model"}},
          .run = [options](const GlobalOptions&) { return run_llm_inspect(*options); }};
}

}  // namespace dfsim::cli
