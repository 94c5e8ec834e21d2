// dfsim llm inspect: a model in numbers.
#include <memory>

#include "base/text_table.h"
#include "cli/commands/llm/llm_commands.h"
#include "cli/terminal_text.h"
#include "report/serving/llm_model_views.h"
#include "serving/llm_predict.h"

namespace dfsim::cli {
namespace {

struct LlmInspectOptions {
  LlmModelOptions model;
  std::string output = "-";
  bool json = false;
};

Status run_llm_inspect(const LlmInspectOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const LlmDeployment deployment, llm_deployment(options.model, {}));
  const LlmInspection result = inspect_llm(deployment.model, deployment.precisions);
  return write_result(options.output,
                      options.json ? llm_inspection_json(deployment.model, result).text()
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
