// The kernels of language-model serving: what identifies one, and the least time it can take.
//
// A kernel is a kind (a matrix product, attention over prompts, ...), a category (what selects
// another program: precision, head dimension, window), an anchor (dimensions that a deployment
// fixes: a weight's n and k, numbers of heads, an expert layer's shape) and one or two run-time
// sizes that change from step to step. Measured tables hold times of such kernels; a KernelSurface
// learns how far from the bound they are.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dfsim::inline serving {

enum class KernelKind : uint8_t {
  kGemm,              // "gemm": anchor n, k; size m
  kPrefillAttention,  // "prefill_attention": anchor heads, kv heads; sizes sequences, tokens of
                      // each
  kDecodeAttention,   // "decode_attention": the same; sizes sequences, tokens in each one's cache
  kMoe,               // "moe": anchor hidden, width, top-k, experts here, experts; size tokens
  kAllReduce,         // "all_reduce", the framework's own: anchor GPUs; size bytes
  kCollective,        // "collective", NCCL's, category = operation: anchor GPUs; size bytes
  kComputeScale,      // "compute_scale": anchor k; size m: finds fp8 scales of activations
  kScaleMatrix,       // "scale_matrix": anchor k; size m: converts activations to fp8
};
inline constexpr int kKernelKindCount = static_cast<int>(KernelKind::kScaleMatrix) + 1;

std::string_view kernel_kind_name(KernelKind kind);

// The properties of a GPU that bound a kernel. Peaks in FLOP per us, bandwidth in bytes per
// us, link in bytes per us and direction to the other GPUs of the node.
struct KernelGpu {
  double peak_16bit = 0;
  double peak_8bit = 0;
  double bandwidth = 0;
  double link = 0;
};

// Facts that a category's name holds, for bounds.
struct KernelTraits {
  double weight_bytes = 2;  // per element; attention: of the cache
  double activation_bytes = 2;
  bool math_8bit = false;
  double head_dim = 0;
  double window = 0;  // 0 = none
};

// Reads "fp8_block" (gemm), "bfloat16/fp8/d128/w0" (attention: queries, cache, head dimension,
// window) or "fp8/balanced" (moe). Unknown parts keep their defaults.
KernelTraits kernel_traits(KernelKind kind, std::string_view category);
std::string attention_category(std::string_view queries, std::string_view cache, int64_t head_dim,
                               int64_t window);

using KernelSizes = std::array<double, 2>;  // run-time sizes; the second is 1 where there is one

// A smooth lower estimate of the time in us: arithmetic and memory traffic at the GPU's peaks, plus
// a floor. Surfaces learn ln(time / bound).
double kernel_bound_us(KernelKind kind, const KernelTraits& traits,
                       const std::vector<double>& anchor, const KernelSizes& sizes,
                       const KernelGpu& gpu);

// The anchor's coordinates in the space in which neighbours are sought: binary logarithms, of heads
// and heads per cache head for attention.
std::vector<double> anchor_position(KernelKind kind, const std::vector<double>& anchor);

}  // namespace dfsim::inline serving
