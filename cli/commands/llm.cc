// dfsim llm: language models, from a config.json to the cost of an engine's steps.
#include "cli/commands/commands.h"
#include "cli/commands/llm/llm_commands.h"

namespace dfsim::cli {

CommandSpec llm_command() {
  return {.name = "llm",
          .summary = "Language models from a config.json: size, memory, cost of serving steps",
          .examples = {{"dfsim llm inspect config.json", "parameters, FLOPs and cache of a model"},
                       {"dfsim llm predict config.json --system h200_sxm --tp 2",
                        "memory and one prefill and decode step on 2 GPUs"}},
          .commands = {llm_inspect_command(), llm_predict_command(), llm_search_command(),
                       llm_serve_command(), llm_train_command(), llm_validate_command()}};
}

}  // namespace dfsim::cli
