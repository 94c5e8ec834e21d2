// The subcommands of dfsim llm, and the options that describe a deployment in all of them.
#pragma once

#include "cli/option_table.h"
#include "serving/llm_deployment.h"

namespace dfsim::cli {

CommandSpec llm_inspect_command();
CommandSpec llm_predict_command();
CommandSpec llm_search_command();
CommandSpec llm_serve_command();
CommandSpec llm_train_command();
CommandSpec llm_validate_command();

// MODEL, --precision and --kv-dtype.
struct LlmModelOptions {
  std::string model;
  std::string precision;  // "" = as published
  std::string kv_dtype = "bf16";
};
OptionTable llm_model_options(LlmModelOptions& options);

// --system, --framework, --framework-version, --tp, --pp, --dp, --ep.
struct LlmWidthOptions {
  std::string system = "h100_sxm";
  std::string framework = "vllm";
  std::string version;
  int32_t tp = 1;
  int32_t pp = 1;
  int32_t dp = 1;
  int32_t ep = 1;
};
OptionTable llm_width_options(LlmWidthOptions& options);

// Errors: those of load_llm_config() and of unknown names.
StatusOr<LlmDeployment> llm_deployment(const LlmModelOptions& model, const LlmWidthOptions& widths);

}  // namespace dfsim::cli
