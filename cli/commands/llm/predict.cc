// dfsim llm predict: memory, one prefill step and one decode step of a deployment.
#include <fmt/format.h>

#include <memory>

#include "base/json/json_tree.h"
#include "base/text_table.h"
#include "base/units.h"
#include "cli/commands/llm/llm_commands.h"
#include "cli/terminal_text.h"
#include "serving/llm_predict.h"
#include "serving/serving_defaults.h"

namespace dfsim::cli {
namespace {

struct LlmStepOptions {
  LlmModelOptions model;
  LlmWidthOptions widths;
  int64_t batch = 1;
  int64_t prompt = 1024;
  int64_t context = 1024;
  std::string output = "-";
  bool json = false;
};

double to_ms(TimeNs time_ns) { return static_cast<double>(time_ns) * 1e-6; }

std::string step_text(const std::string& what, const StepPrediction& step) {
  std::string text = fmt::format("{}: {:.3g} ms (80 %: {:.3g} to {:.3g})\n", what,
                                 to_ms(step.cost.time_ns), step.low_ms, step.high_ms);
  TextTable table({{"kernel"},
                   {"part"},
                   {"runs", Align::kRight},
                   {"us each", Align::kRight},
                   {"share", Align::kRight}});
  for (const KernelTime& kernel : step.kernels) {
    table.add_row({kernel.name, step_part_name(kernel.part), fmt::format("{:g}", kernel.repeats),
                   fmt::format("{:.1f}", kernel.time_us),
                   fmt::format("{:.1f} %",
                               0.1 * kernel.repeats * kernel.time_us / to_ms(step.cost.time_ns))});
  }
  table.add_row({"host", "host", "1",
                 fmt::format("{:.1f}", 1e3 * to_ms(step.cost.part(StepPart::kHost))),
                 fmt::format("{:.1f} %", 100 * to_ms(step.cost.part(StepPart::kHost)) /
                                             to_ms(step.cost.time_ns))});
  return text + table.render(100, 2);
}

std::string llm_prediction_text(const LlmStepOptions& options, const LlmPrediction& r) {
  std::string text = fmt::format("memory per GPU: {}\n  {} tokens fit, {} each\n\n",
                                 describe_memory(r.memory), r.memory.cache_tokens,
                                 format_bytes(static_cast<Bytes>(r.memory.cache_bytes_per_token)));
  text += step_text(fmt::format("prefill of {} tokens", options.prompt), r.prefill) + "\n";
  text += step_text(fmt::format("decode of {} sequences with {} cached tokens each", options.batch,
                                options.context),
                    r.decode);
  text += fmt::format("\n{:.0f} tokens/s while decoding\n", r.decode_tokens_per_s);
  for (const std::string& note : r.notes) {
    text += fmt::format("note: {}\n", note);
  }
  return text;
}

JsonTree step_json(const StepPrediction& step) {
  JsonTree parts = JsonTree::object();
  for (int i = 0; i < kStepPartCount; ++i) {
    const auto part = static_cast<StepPart>(i);
    parts[step_part_name(part)] = to_ms(step.cost.part(part));
  }
  JsonTree kernels = JsonTree::array();
  for (const KernelTime& kernel : step.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"part", step_part_name(kernel.part)},
                       {"repeats", kernel.repeats},
                       {"time_us", kernel.time_us}});
  }
  return {{"time_ms", to_ms(step.cost.time_ns)},
          {"low_ms", step.low_ms},
          {"high_ms", step.high_ms},
          {"parts_ms", std::move(parts)},
          {"kernels", std::move(kernels)}};
}

JsonTree llm_prediction_json(const LlmPrediction& r) {
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
          {"prefill", step_json(r.prefill)},
          {"decode", step_json(r.decode)},
          {"decode_tokens_per_s", r.decode_tokens_per_s},
          {"notes", r.notes}};
}

Status run_llm_predict(const LlmStepOptions& options) {
  LlmPredictOptions predict;
  DFSIM_ASSIGN_OR_RETURN(predict.deployment, llm_deployment(options.model, options.widths));
  predict.sequences = options.batch;
  predict.prompt_tokens = options.prompt;
  predict.context_tokens = options.context;
  const FrameworkProfile& profile = framework_profile(predict.deployment.framework);
  predict.runtime = runtime_for(profile, options.batch);
  predict.memory.utilization = profile.memory_share;
  predict.memory.sequence_tokens = options.context + 1;
  DFSIM_ASSIGN_OR_RETURN(const LlmPrediction result, predict_llm(predict));
  return write_result(options.output, options.json
                                          ? llm_prediction_json(result).text()
                                          : fit_lines(llm_prediction_text(options, result)));
}

OptionTable llm_step_options(LlmStepOptions& o) {
  return {
      {.names = "--batch",
       .target = &o.batch,
       .help = "Sequences decoded together",
       .show_default = true,
       .range = {1, 1 << 20}},
      {.names = "--prompt",
       .target = &o.prompt,
       .help = "Tokens of the prompt that is computed",
       .show_default = true,
       .range = {1, 1 << 30}},
      {.names = "--context",
       .target = &o.context,
       .help = "Cached tokens of each decoding sequence",
       .show_default = true,
       .range = {0, 1 << 30}},
      {.names = "--json", .target = &o.json, .help = "JSON instead of text"},
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Write to this file; - is stdout",
       .show_default = true},
  };
}

}  // namespace

CommandSpec llm_predict_command() {
  const auto options = std::make_shared<LlmStepOptions>();
  return {.name = "predict",
          .summary = "Memory, and one prefill and one decode step kernel by kernel",
          .options = joined({llm_model_options(options->model), llm_width_options(options->widths),
                             llm_step_options(*options)}),
          .examples = {{"dfsim llm predict config.json --system h200_sxm --tp 2 --batch 64",
                        "the steps of a model on 2 GPUs for 64 users"}},
          .run = [options](const GlobalOptions&) { return run_llm_predict(*options); }};
}

}  // namespace dfsim::cli
