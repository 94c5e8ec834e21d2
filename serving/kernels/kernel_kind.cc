// Bounds and names of serving kernels.
//
// A bound is the Euclidean sum of its arithmetic and memory time: measured kernels bend from one
// limit to the other instead of breaking, and a smooth bound leaves a smoother rest to learn.
#include "serving/kernels/kernel_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace dfsim::inline serving {

namespace {

constexpr std::array<std::string_view, kKernelKindCount> kKernelKindNames = {
    "gemm",       "prefill_attention", "decode_attention", "moe",
    "all_reduce", "collective",        "compute_scale",    "scale_matrix"};

// Least time of a kernel of each kind, in us: a launch, or an exchange of flags for collectives.
constexpr std::array<double, kKernelKindCount> kKernelFloorsUs = {2, 3, 3, 8, 3, 5, 1, 1.5};

double element_bytes(std::string_view name) {
  if (name.find("mxfp4") != std::string_view::npos ||
      name.find("nvfp4") != std::string_view::npos) {
    return 4.25 / 8;
  }
  if (name.starts_with("int4")) {
    return 0.5;
  }
  const bool one = name.starts_with("fp8") || name.starts_with("int8") || name == "sq";
  return one ? 1 : 2;
}

std::vector<std::string_view> split_at_slashes(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find('/');
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

double number_after_letter(std::string_view part) {
  return part.size() < 2 ? 0 : std::strtod(std::string(part.substr(1)).c_str(), nullptr);
}

struct KernelWork {
  double flops = 0;
  double bytes = 0;
};

// Pairs of query and key that a causal sequence of `tokens` looks at.
double causal_pairs(double tokens, double window) {
  const double seen = window > 0 ? std::min(window, tokens) : tokens;
  return tokens * seen - seen * seen / 2 + seen / 2;
}

KernelWork attention_work(KernelKind kind, const KernelTraits& traits,
                          const std::vector<double>& anchor, const KernelSizes& sizes) {
  const double heads = anchor[0];
  const double kv_heads = anchor[1];
  const double batch = sizes[0];
  const double tokens = sizes[1];
  const double d = traits.head_dim;
  if (kind == KernelKind::kPrefillAttention) {
    return {4 * batch * heads * d * causal_pairs(tokens, traits.window),
            2 * batch * tokens * d * (2 * heads + 2 * kv_heads)};
  }
  const double seen = traits.window > 0 ? std::min(traits.window, tokens) : tokens;
  return {4 * batch * heads * d * seen,
          batch * d * (2 * kv_heads * seen * traits.weight_bytes + 4 * heads)};
}

// Experts that `tokens` tokens touch when each picks `top_k` of `experts` evenly.
double experts_touched(double tokens, double top_k, double here, double experts) {
  return here * (1 - std::pow(1 - std::min(top_k / experts, 1.0), tokens));
}

KernelWork moe_work(const KernelTraits& traits, const std::vector<double>& anchor, double tokens) {
  const double hidden = anchor[0];
  const double width = anchor[1];
  const double pairs = tokens * anchor[2] * anchor[3] / anchor[4];
  const double weights = 3 * hidden * width * traits.weight_bytes;
  return {6 * pairs * hidden * width,
          experts_touched(tokens, anchor[2], anchor[3], anchor[4]) * weights +
              pairs * (4 * hidden + 6 * width)};
}

KernelWork kernel_work(KernelKind kind, const KernelTraits& traits,
                       const std::vector<double>& anchor, const KernelSizes& sizes) {
  const double m = sizes[0];
  switch (kind) {
    case KernelKind::kGemm:
      return {2 * m * anchor[0] * anchor[1], traits.weight_bytes * anchor[0] * anchor[1] +
                                                 traits.activation_bytes * m * anchor[1] +
                                                 2 * m * anchor[0]};
    case KernelKind::kPrefillAttention:
    case KernelKind::kDecodeAttention:
      return attention_work(kind, traits, anchor, sizes);
    case KernelKind::kMoe:
      return moe_work(traits, anchor, m);
    case KernelKind::kComputeScale:
      return {0, 2 * m * anchor[0]};
    case KernelKind::kScaleMatrix:
      return {0, 3 * m * anchor[0]};
    case KernelKind::kAllReduce:
    case KernelKind::kCollective:
      break;  // not bound by the GPU's memory
  }
  return {};
}

}  // namespace

std::string_view kernel_kind_name(KernelKind kind) {
  return kKernelKindNames[static_cast<size_t>(kind)];
}

KernelTraits kernel_traits(KernelKind kind, std::string_view category) {
  const std::vector<std::string_view> parts = split_at_slashes(category);
  KernelTraits traits;
  const bool attention =
      kind == KernelKind::kPrefillAttention || kind == KernelKind::kDecodeAttention;
  if (attention && parts.size() == 4) {
    traits.math_8bit = parts[0] == "fp8";
    traits.weight_bytes = element_bytes(parts[1]);
    traits.head_dim = number_after_letter(parts[2]);
    traits.window = number_after_letter(parts[3]);
    return traits;
  }
  traits.weight_bytes = element_bytes(parts[0]);
  traits.math_8bit = parts[0].starts_with("fp8") || parts[0] == "sq";
  traits.activation_bytes = traits.math_8bit ? 1 : 2;
  return traits;
}

std::string attention_category(std::string_view queries, std::string_view cache, int64_t head_dim,
                               int64_t window) {
  return fmt::format("{}/{}/d{}/w{}", queries, cache, head_dim, window);
}

double kernel_bound_us(KernelKind kind, const KernelTraits& traits,
                       const std::vector<double>& anchor, const KernelSizes& sizes,
                       const KernelGpu& gpu) {
  const double floor = kKernelFloorsUs[static_cast<size_t>(kind)];
  if (kind == KernelKind::kAllReduce || kind == KernelKind::kCollective) {
    const double gpus = anchor[0];
    return floor + sizes[0] * 2 * (gpus - 1) / gpus / gpu.link;
  }
  const KernelWork work = kernel_work(kind, traits, anchor, sizes);
  return floor + std::hypot(work.flops / (traits.math_8bit ? gpu.peak_8bit : gpu.peak_16bit),
                            work.bytes / gpu.bandwidth);
}

std::vector<double> anchor_position(KernelKind kind, const std::vector<double>& anchor) {
  std::vector<double> position;
  for (const double value : anchor) {
    position.push_back(std::log2(std::max(value, 1e-3)));
  }
  if (kind == KernelKind::kPrefillAttention || kind == KernelKind::kDecodeAttention) {
    position[1] = position[0] - position[1];
  }
  return position;
}

}  // namespace dfsim::inline serving
