// The time that a serving framework adds to the kernels of a step: a few named parameters, fitted
// on measured deployments. docs/reference/llm-serving.md says what each is and how it was found.
//
// A step's wall time = device time + host time that nothing hides:
//   device = sum over parts of scale * kernels, plus kernel_gap_us * kernels; a step outside CUDA
//            graphs takes at least eager_kernel_us * kernels, as the host launches them one by one;
//   host   = step_us + per_sequence_us * sequences + per_token_us * prompt tokens.
#pragma once

#include <cstdint>
#include <vector>

namespace dfsim::inline serving {

struct ServingRuntime {
  double step_us = 0;             // scheduler, sampling set-up, reading results: per step
  double per_sequence_us = 0;     // sampling, detokenising, block tables: per sequence of the step
  double per_token_us = 0;        // per prompt token computed
  double eager_kernel_us = 0;     // host time of one launch outside CUDA graphs
  double kernel_gap_us = 0;       // idle time of the GPU between two kernels
  double memory_kernel_us = 1.5;  // floor of a kernel that only moves data (norm, RoPE, activation)
  double memory_efficiency = 0.75;  // share of the peak bandwidth that such kernels reach
  // Kernels were measured alone; in a server caches are cold and clocks differ.
  double gemm_scale = 1;          // products of few tokens: they read weights
  double gemm_8bit_scale = 1;     // the same in fp8, in place of gemm_scale
  double gemm_compute_scale = 1;  // products of many tokens: they compute, and clocks fall
  double prefill_attention_scale = 1;
  double decode_attention_scale = 1;
  // Experts with 4-bit floats, the only ones among the measured deployments; others run as
  // alone.
  double moe_scale = 1;
  double moe_prefill_scale = 1;  // besides moe_scale, in steps with prompts
  double comm_scale = 1;
  double quantize_scale = 1;  // 0: conversions to fp8 are part of the norm or activation before
  // Spread of ln(measured / predicted) step times that the parameters leave.
  double log_sigma = 0.05;
  // How unevenly tokens choose experts: "balanced", "power_law_1.01" or "power_law_1.2".
  const char* expert_distribution = "power_law_1.01";
  // Batch sizes that decode steps are padded to, ascending; above the last one, and with prompts,
  // a step runs outside CUDA graphs. Empty: never a graph.
  std::vector<int64_t> graph_batches;
  bool prefill_graphs = false;  // piecewise graphs: prompts do not pay eager_kernel_us
};

// The batch sizes 1, 2, 4 and multiples of 8 up to `largest`, as vLLM captures them.
std::vector<int64_t> default_graph_batches(int64_t largest);

}  // namespace dfsim::inline serving
