// Reads aiconfigurator's tables of serving kernels (Apache-2.0; see docs/reference/llm-serving.md
// for columns).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "serving/kernels/kernel_kind.h"

namespace dfsim::inline serving {

struct KernelSample {
  KernelKind kind = KernelKind::kGemm;
  std::string category;
  std::vector<double> anchor;
  KernelSizes sizes = {1, 1};
  double time_us = 0;
};

// The samples of one .csv or .csv.gz file, in its order; its name does not matter, its columns say
// what it is. Rows without gate (another kind of expert layer) and encoders are left out. Errors:
// kNotFound; kInvalidInput with `file:row` for a missing column and a cell that is not a
// number.
StatusOr<std::vector<KernelSample>> read_kernel_table(const std::string& path);

}  // namespace dfsim::inline serving
