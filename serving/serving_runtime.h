// What a serving framework adds to the kernels of a step: a few named parameters, fitted on
// measured deployments. Documented in docs/llm-serving.md; one set per framework ships in
// serving/runtimes.
//
// A step's wall time = max(device time, launch-bound time) + step_us + per_sequence_us * sequences
//   + per_token_us * prompt tokens, where device time = kernels_scale * sum of kernels, and the
//   launch-bound time is eager_kernel_us * kernels when the step does not run as a CUDA graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace dfsim::inline serving {

struct ServingRuntime {
  double step_us = 0;          // host time of a step that no GPU work hides
  double per_sequence_us = 0;  // sampling, detokenising, block tables: per sequence of the step
  double per_token_us = 0;     // host time per prompt token computed
  double eager_kernel_us = 0;  // host time per kernel launch outside CUDA graphs
  double kernel_gap_us = 0;    // idle time of the GPU between kernels inside a CUDA graph
  double gemm_scale = 1;       // measured kernels run alone; in a server caches and clocks differ
  double attention_scale = 1;
  double comm_scale = 1;
  double moe_scale = 1;
  // Batch sizes that decode steps are padded to; above the last one a step runs eagerly.
  std::vector<int64_t> graph_batches;
};

// The batch sizes 1, 2, 4 and multiples of 8 up to `largest`, as vLLM captures them.
std::vector<int64_t> default_graph_batches(int64_t largest);

}  // namespace dfsim::inline serving
