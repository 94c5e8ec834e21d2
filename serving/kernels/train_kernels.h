// From measured tables to a file that ships, and the page that says how good it is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/kernels/kernel_set.h"

namespace dfsim::inline serving {

struct KernelTrainingOptions {
  std::string system;     // "h100_sxm": one of serving_systems()
  std::string framework;  // "vllm", "trtllm" or "sglang"
  std::string version;
  std::vector<std::string> tables;  // paths, in any order: the result depends on their rows only
};

// Errors: kNotFound for an unknown system; kInvalidInput without tables or version; those of
// read_kernel_table().
StatusOr<KernelSet> train_kernel_set(const KernelTrainingOptions& options);

// "h100_sxm-vllm-0.24.0.kernels".
std::string kernel_file_name(const KernelSet& set);

// Markdown: held-out errors of each kind and category of the sets, in their order, and the limits.
std::string kernel_model_card(std::span<const KernelSet> sets);

}  // namespace dfsim::inline serving
