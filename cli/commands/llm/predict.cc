// dfsim llm predict: memory, one prefill step and one decode step of a deployment.
#include <memory>

#include "base/text_table.h"
#include "cli/commands/llm/llm_commands.h"
#include "cli/terminal_text.h"
#include "report/serving/llm_model_views.h"
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
                                          ? llm_prediction_json(predict, result).text()
                                          : fit_lines(llm_prediction_text(predict, result)));
}

OptionTable llm_step_options(LlmStepOptions& o) {
  return {
      {.names = "--batch",
       .target = &o.batch,
       .help = "Sequences decoded together on each data-parallel rank",
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
