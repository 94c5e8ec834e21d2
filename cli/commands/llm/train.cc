// dfsim llm train: kernel models of a serving framework from measured tables.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/io/file.h"
#include "cli/commands/llm/llm_commands.h"
#include "serving/kernels/train_kernels.h"

namespace dfsim::cli {
namespace {

constexpr int64_t kMostKernelFileBytes = int64_t{64} << 20;

struct LlmTrainOptions {
  KernelTrainingOptions training;
  std::string output;
  bool card = false;
};

// All kernel files of the folder, by name.
Status write_kernel_card(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".kernels") {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    return not_found(
        fmt::format("{}: has no .kernels files, expected those of dfsim llm train", folder));
  }
  std::vector<KernelSet> sets;
  for (const std::string& file : files) {
    DFSIM_ASSIGN_OR_RETURN(const std::string bytes, read_file(file, kMostKernelFileBytes));
    DFSIM_ASSIGN_OR_RETURN(KernelSet set, decode_kernel_set(bytes, file));
    sets.push_back(std::move(set));
  }
  return write_file(folder + "/MODEL_CARD.md", kernel_model_card(sets));
}

Status run_llm_train(const LlmTrainOptions& options) {
  if (options.card) {
    return write_kernel_card(options.output);
  }
  DFSIM_ASSIGN_OR_RETURN(const KernelSet set, train_kernel_set(options.training));
  return write_file(options.output + "/" + kernel_file_name(set), encode_kernel_set(set));
}

}  // namespace

CommandSpec llm_train_command() {
  const auto options = std::make_shared<LlmTrainOptions>();
  KernelTrainingOptions& training = options->training;
  return {
      .name = "train",
      .summary = "Make a framework's kernel models from measured tables (aiconfigurator's format)",
      .options = {{.names = "TABLES",
                   .target = &training.tables,
                   .help = "CSV tables, gzipped or not, of one system, framework and version",
                   .value = "FILE..."},
                  {.names = "--system",
                   .target = &training.system,
                   .help = "As in dfsim llm predict"},
                  {.names = "--framework",
                   .target = &training.framework,
                   .help = "Serving framework",
                   .choices = "vllm,trtllm,sglang"},
                  {.names = "--framework-version",
                   .target = &training.version,
                   .help = "The framework's version"},
                  {.names = "-o,--output",
                   .target = &options->output,
                   .help = "Folder of the model",
                   .value = "DIR",
                   .required = true},
                  {.names = "--card",
                   .target = &options->card,
                   .help = "Instead, write MODEL_CARD.md of all models in the folder"}},
      .examples = {{"dfsim llm train --system h100_sxm --framework vllm --framework-version 0.24.0 "
                    "gemm_perf.csv.gz -o models",
                    "a model of the products in one table"}},
      .run = [options](const GlobalOptions&) { return run_llm_train(*options); }};
}

}  // namespace dfsim::cli
