// Options that describe a deployment.
#include <cctype>
#include <string>
#include <utility>

#include "base/text.h"
#include "cli/commands/llm/llm_commands.h"
#include "cli/progress.h"
#include "serving/deployment_checks.h"
#include "serving/llm_predict.h"
#include "study/chain/llm_source.h"

namespace dfsim::cli {
namespace {

// "fp8" or "attention=bf16,mlp=fp8,experts=mxfp4"; a name without a class is that of all classes.
Status set_precisions(const std::string& text, LlmPrecisions* precisions) {
  for (const std::string& item : split(text, ',')) {
    const size_t equals = item.find('=');
    const std::string name = equals == std::string::npos ? item : item.substr(equals + 1);
    const std::string where = equals == std::string::npos ? "" : item.substr(0, equals);
    DFSIM_ASSIGN_OR_RETURN(const LlmPrecision precision, llm_precision_from_name(name));
    const std::pair<std::string, LlmPrecision*> classes[] = {{"attention", &precisions->attention},
                                                             {"mlp", &precisions->mlp},
                                                             {"experts", &precisions->experts}};
    bool found = where.empty();
    for (const auto& [key, target] : classes) {
      if (where.empty() || where == key) {
        *target = precision;
        found = true;
      }
    }
    if (!found) {
      return invalid_input(
          unknown_name_message("class of operators", where, {"attention", "mlp", "experts"}));
    }
  }
  return ok_status();
}

}  // namespace

OptionTable llm_model_options(LlmModelOptions& o) {
  return {
      {.names = "MODEL",
       .target = &o.model,
       .help =
           "A config.json of Hugging Face, its folder, or a decoder's ONNX file with a KV cache",
       .required = true},
      {.names = "--precision",
       .target = &o.precision,
       .help = "Weights: bf16, fp16, fp8, fp8_block, int8, int4, mxfp4, nvfp4 (default: as "
               "published); by class of operator: fp8,experts=mxfp4 (attention, mlp, experts)",
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
               "'dfsim hardware' with these GPUs work, too",
       .value = "NAME",
       .show_default = true},
      {.names = "--framework",
       .target = &o.framework,
       .help = "Serving framework",
       .show_default = true,
       .choices = "vllm,trtllm,sglang"},
      {.names = "--framework-version",
       .target = &o.version,
       .help = "Framework version; dfsim uses the nearest measured one (default: the newest)",
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
    DFSIM_RETURN_IF_ERROR(set_precisions(model.precision, &deployment.precisions));
  }
  DFSIM_ASSIGN_OR_RETURN(deployment.precisions.kv_cache, llm_precision_from_name(model.kv_dtype));
  DFSIM_ASSIGN_OR_RETURN(deployment.framework, framework_from_name(widths.framework));
  deployment.system = widths.system;
  if (!widths.version.empty() && std::isdigit(static_cast<unsigned char>(widths.version[0])) == 0) {
    return invalid_input("--framework-version: '" + printable(widths.version) +
                         "', expected a version such as 0.14.0");
  }
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
