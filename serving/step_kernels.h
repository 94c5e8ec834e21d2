// The kernels that one GPU runs in a step of a deployment, each ready to be costed by size.
//
// All but attention depend on two numbers only: the tokens of the step and its sequences. Attention
// depends on every sequence's context and is kept apart.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/kernels/kernel_library.h"
#include "serving/llm_deployment.h"
#include "serving/serving_runtime.h"
#include "serving/step_part.h"

namespace dfsim::inline serving {

enum class StepSize : uint8_t {
  kTokens,        // new tokens of this rank
  kSequences,     // sequences of this rank: one row of logits each
  kGlobalTokens,  // new tokens of all data-parallel ranks together, taken to be equal
};

struct StepKernel {
  std::string name;  // "qkv", "gate_up", "all_reduce": for reports
  StepPart part = StepPart::kGemm;
  StepSize size = StepSize::kTokens;
  double repeats = 1;  // in all layers of all pipeline stages
  // With a curve: the time at size * factor. Without: bytes_per_unit * size are moved.
  bool has_curve = true;
  bool eight_bit = false;  // a product of fp8 numbers
  bool four_bit = false;   // experts with 4-bit floats
  KernelCurve curve;
  // A product of fp8 numbers takes no longer than that of bf16 numbers and one memory-bound kernel,
  // the conversion: some tables timed it without CUDA graphs, where the host's launches are a floor
  // of up to 90 us whatever the size. Likewise experts with one scale per tensor: vLLM 0.24.0's
  // table has two to three times the time of bf16 on Hopper, where its other tables have less.
  bool has_limit = false;
  KernelCurve limit;
  double factor = 1;
  // These bytes limit a conversion to fp8: a server's conversion is one memory-bound
  // kernel, while SGLang's table timed one of ten times that.
  double bytes_per_unit = 0;
  int group = -1;  // of like layers, in order of first appearance; -1 outside layers
};

// Attention of layers that are alike.
struct StepAttention {
  std::string name;
  double repeats = 1;
  KernelCurve prefill;
  KernelCurve decode;
  bool has_curves = true;  // false for decodes of latent attention: bound by bytes and arithmetic
  double window = 0;       // 0 = none
  bool window_in_curves = false;    // the measured kernels had this window
  double decode_bytes_per_key = 0;  // latent attention: of the cache, per sequence and cached token
  double decode_flops_per_key = 0;
  size_t before = 0;  // runs before this one of StepKernels::kernels
  int group = -1;     // as StepKernel::group
};

struct StepKernels {
  std::vector<StepKernel> kernels;
  std::vector<StepAttention> attention;
  double launches_per_step = 0;    // kernels of one step, attention included
  double largest_stage_share = 1;  // of the layers: 1 / pp when they divide evenly
  KernelGpu gpu;
  std::vector<std::string> notes;  // kernels taken from other versions
};

// Errors: kInvalidInput for widths that do not divide heads, blocks or experts, and for more GPUs
// than one server has; kNotFound for a precision whose kernels were not measured there.
StatusOr<StepKernels> make_step_kernels(const LlmDeployment& deployment,
                                        const ServingRuntime& runtime);

}  // namespace dfsim::inline serving
