// Options that describe a deployment.
#include <string>

#include "cli/commands/llm/llm_commands.h"
#include "cli/progress.h"
#include "serving/deployment_checks.h"
#include "serving/llm_predict.h"
#include "study/chain/llm_source.h"

namespace dfsim::cli {

OptionTable llm_model_options(LlmModelOptions& o) {
  return {
      {.names = "MODEL",
       .target = &o.model,
       .help =
           "A config.json of Hugging Face, its folder, or a decoder's ONNX file with a KV cache",
       .required = true},
      {.names = "--precision",
       .target = &o.precision,
       .help = "Weights of attention, dense blocks and experts: bf16, fp16, fp8, fp8_block, int8, "
               "int4, mxfp4, nvfp4 (default: as published)",
       .value = "NAME"},
      {.names = "--kv-dtype",
       .target = &o.kv_dtype,
       .help = "Numbers in the KV cache",
       .value = "NAME",
       .show_default = true,
       .choices = "bf16,fp16,fp8"},
  };
}

OptionTable llm_width_options(LlmWidthOptions& o) {
  return {
      {.names = "--system,--hw",
       .target = &o.system,
       .help = "GPUs whose kernels were measured: h100_sxm, h200_sxm, a100_sxm, l40s; names of "
               "'dfsim hardware' with these GPUs are taken, too",
       .value = "NAME",
       .show_default = true},
      {.names = "--framework",
       .target = &o.framework,
       .help = "Serving framework",
       .show_default = true,
       .choices = "vllm,trtllm,sglang"},
      {.names = "--framework-version",
       .target = &o.version,
       .help = "Framework version; the nearest measured one answers (default: the newest)",
       .value = "VERSION"},
      {.names = "--tp",
       .target = &o.tp,
       .help = "Tensor parallelism",
       .show_default = true,
       .range = {1, 1024}},
      {.names = "--pp",
       .target = &o.pp,
       .help = "Pipeline stages",
       .show_default = true,
       .range = {1, 1024}},
      {.names = "--dp",
       .target = &o.dp,
       .help = "Replicas of attention that share the experts",
       .show_default = true,
       .range = {1, 1024}},
      {.names = "--ep",
       .target = &o.ep,
       .help = "Expert parallelism; experts are cut tp * dp / ep ways",
       .show_default = true,
       .range = {1, 1024}},
  };
}

StatusOr<LlmDeployment> llm_deployment(const LlmModelOptions& model,
                                       const LlmWidthOptions& widths) {
  LlmDeployment deployment;
  DFSIM_ASSIGN_OR_RETURN(deployment.model, load_llm_config(model.model));
  deployment.precisions = published_precisions(deployment.model);
  if (!model.precision.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const LlmPrecision precision, llm_precision_from_name(model.precision));
    deployment.precisions.attention = precision;
    deployment.precisions.mlp = precision;
    deployment.precisions.experts = precision;
  }
  DFSIM_ASSIGN_OR_RETURN(deployment.precisions.kv_cache, llm_precision_from_name(model.kv_dtype));
  DFSIM_ASSIGN_OR_RETURN(deployment.framework, framework_from_name(widths.framework));
  deployment.system = widths.system;
  deployment.version = widths.version;
  deployment.parallelism.tp = widths.tp;
  deployment.parallelism.pp = widths.pp;
  deployment.parallelism.dp = widths.dp;
  deployment.parallelism.moe_ep = widths.ep;
  const LlmPrecisions& precisions = deployment.precisions;
  printed_notes(/*quiet=*/true)
      .decide("deployment",
              {{"model", deployment.model.name},
               {"weights", std::string(llm_precision_name(precisions.mlp))},
               {"kv_cache", std::string(llm_precision_name(precisions.kv_cache))},
               {"system", deployment.system},
               {"framework", std::string(framework_name(deployment.framework))},
               {"version", deployment.version.empty() ? "newest-measured" : deployment.version},
               {"gpus", std::to_string(deployment.parallelism.gpus())}});
  return deployment;
}

}  // namespace dfsim::cli
