// A language model in numbers, and one step of it kernel by kernel.
#include "report/serving/llm_model_views.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/text_table.h"
#include "base/units.h"

namespace dfsim::inline report {

namespace {

std::string feed_forward_text(const LlmConfig& config, const LlmLayer& layer) {
  const std::string dense = layer.dense ? fmt::format("dense {}", layer.intermediate) : "";
  if (!layer.moe) {
    return dense;
  }
  return fmt::format("{}{} experts of {}, {} a token", dense.empty() ? "" : dense + " and ",
                     config.experts.experts, config.experts.intermediate, config.experts.per_token);
}

const char* attention_text(const LlmLayer& layer) {
  switch (layer.attention) {
    case LlmAttention::kLatent:
      return "latent";
    case LlmAttention::kGatedDelta:
      return "gated-delta";
    case LlmAttention::kLightning:
      return "lightning";
    default:
      return "grouped";
  }
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) {
    text += fmt::format("note: {}\n", note);
  }
  return text;
}

double in_milliseconds(TimeNs time_ns) { return static_cast<double>(time_ns) * 1e-6; }

std::string predicted_step_text(const std::string& what, const StepPrediction& step) {
  std::string text = fmt::format("{}: {:.3g} ms (80 %: {:.3g} to {:.3g})\n", what,
                                 in_milliseconds(step.cost.time_ns), step.low_ms, step.high_ms);
  TextTable table({{"kernel"},
                   {"part"},
                   {"runs", Align::kRight},
                   {"us each", Align::kRight},
                   {"share", Align::kRight}});
  for (const KernelTime& kernel : step.kernels) {
    table.add_row({kernel.name, step_part_name(kernel.part), fmt::format("{:g}", kernel.repeats),
                   fmt::format("{:.1f}", kernel.time_us),
                   fmt::format("{:.1f} %", 0.1 * kernel.repeats * kernel.time_us /
                                               in_milliseconds(step.cost.time_ns))});
  }
  table.add_row({"host", "host", "1",
                 fmt::format("{:.1f}", 1e3 * in_milliseconds(step.cost.part(StepPart::kHost))),
                 fmt::format("{:.1f} %", 100 * in_milliseconds(step.cost.part(StepPart::kHost)) /
                                             in_milliseconds(step.cost.time_ns))});
  return text + table.render(100, 2);
}

// " on 4 GPUs: 128 sequences in flight, 2 ranks x 2 batches (one per pipeline stage) x 32"; nothing
// where one batch is all.
std::string in_flight_text(const LlmPredictOptions& options, const LlmPrediction& r) {
  const LlmParallelism& widths = options.deployment.parallelism;
  if (widths.dp == 1 && widths.pp == 1) {
    return "";
  }
  const std::string ranks = widths.dp > 1 ? fmt::format("{} ranks x ", widths.dp) : "";
  const std::string batches =
      widths.pp > 1 ? fmt::format("{} batches (one per pipeline stage) x ", widths.pp) : "";
  return fmt::format(" on {} GPUs: {} sequences in flight, {}{}{}", widths.gpus(),
                     r.sequences_in_flight, ranks, batches, options.sequences);
}

JsonTree predicted_step_json(const StepPrediction& step) {
  JsonTree parts = JsonTree::object();
  for (int i = 0; i < kStepPartCount; ++i) {
    const auto part = static_cast<StepPart>(i);
    parts[step_part_name(part)] = in_milliseconds(step.cost.part(part));
  }
  JsonTree kernels = JsonTree::array();
  for (const KernelTime& kernel : step.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"part", step_part_name(kernel.part)},
                       {"repeats", kernel.repeats},
                       {"time_us", kernel.time_us}});
  }
  return {{"time_ms", in_milliseconds(step.cost.time_ns)},
          {"low_ms", step.low_ms},
          {"high_ms", step.high_ms},
          {"parts_ms", std::move(parts)},
          {"kernels", std::move(kernels)}};
}

}  // namespace

std::string llm_inspection_text(const LlmConfig& config, const LlmInspection& r) {
  std::string text = fmt::format("{} ({}): {}, hidden size {}, vocabulary {}, {}\n\n", r.name,
                                 r.model_type, counted(r.layers, "layer"), config.hidden,
                                 config.vocab, counted(config.max_positions, "position"));
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
                    {.header = "feed forward", .wrap = true}});
  for (const LlmInspection::LayerGroup& group : r.groups) {
    const LlmLayer& layer = group.layer;
    layers.add_row({fmt::format("{}", group.count), attention_text(layer),
                    fmt::format("{}", layer.heads), fmt::format("{}", layer.kv_heads),
                    fmt::format("{}", layer.head_dim),
                    layer.window > 0 ? fmt::format("{}", layer.window) : "-",
                    feed_forward_text(config, layer)});
  }
  return text + parameters.render() + "\n" + layers.render() +
         fmt::format("\n{} of weights, {} of cache and {} per token\n",
                     format_bytes(static_cast<Bytes>(r.weight_bytes)),
                     format_bytes(static_cast<Bytes>(r.cache_bytes_per_token)),
                     format_count(r.flops_per_token, "FLOP")) +
         (r.state_elements == 0
              ? ""
              : fmt::format("{} of state per sequence in layers of linear attention\n",
                            counted(r.state_elements, "number"))) +
         (config.left_out.empty() ? "" : fmt::format("note: {}\n", left_out_text(config))) +
         notes_text(config.notes);
}

JsonTree llm_inspection_json(const LlmConfig& config, const LlmInspection& r) {
  JsonTree groups = JsonTree::array();
  for (const LlmInspection::LayerGroup& group : r.groups) {
    groups.push_back({{"layers", group.count},
                      {"attention", attention_text(group.layer)},
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
          {"left_out", r.left_out},
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
          {"state_elements", r.state_elements},
          {"layer_groups", std::move(groups)},
          {"notes", config.notes}};
}

std::string llm_prediction_text(const LlmPredictOptions& options, const LlmPrediction& r) {
  std::string text = fmt::format("memory per GPU: {}\n  {}, {} each\n\n", describe_memory(r.memory),
                                 counted(r.memory.cache_tokens, "token fits", "tokens fit"),
                                 format_bytes(static_cast<Bytes>(r.memory.cache_bytes_per_token)));
  text += predicted_step_text("prefill of " + counted(options.prompt_tokens, "token"), r.prefill) +
          "\n";
  text += predicted_step_text(
      fmt::format("decode of {}{} with {} each", counted(options.sequences, "sequence"),
                  options.deployment.parallelism.dp > 1 ? " on each rank" : "",
                  counted(options.context_tokens, "cached token")),
      r.decode);
  text += fmt::format("\n{:.0f} tokens/s while decoding{}\n", r.decode_tokens_per_s,
                      in_flight_text(options, r));
  return text + notes_text(r.notes);
}

JsonTree llm_prediction_json(const LlmPredictOptions& options, const LlmPrediction& r) {
  const LlmMemory& m = r.memory;
  return {{"schema", "dfsim.llm-predict/1"},
          {"memory",
           {{"capacity_bytes", m.capacity},
            {"usable_bytes", m.usable},
            {"weight_bytes", m.weights},
            {"activation_bytes", m.activations},
            {"workspace_bytes", m.workspace},
            {"cuda_graph_bytes", m.cuda_graphs},
            {"cache_bytes", m.cache},
            {"cache_bytes_per_token", m.cache_bytes_per_token},
            {"cache_tokens", m.cache_tokens}}},
          {"prefill", predicted_step_json(r.prefill)},
          {"decode", predicted_step_json(r.decode)},
          {"sequences_per_batch", options.sequences},
          {"sequences_in_flight", r.sequences_in_flight},
          {"gpus", options.deployment.parallelism.gpus()},
          {"decode_tokens_per_s", r.decode_tokens_per_s},
          {"notes", r.notes}};
}

}  // namespace dfsim::inline report
