// Attention of unequal sequences.
#include "serving/attention_cost.h"

#include <algorithm>
#include <cmath>

namespace dfsim::inline serving {

namespace {

// Share of peak bandwidth and arithmetic that kernels of latent attention reach (FlashMLA's README
// reports about 0.8 of both on H100), and their launch.
constexpr double kLatentEfficiency = 0.75;
constexpr double kLatentFloorUs = 6;

// Pairs of query and key of `fresh` tokens behind `context` cached ones.
double pairs_of(double fresh, double context, double window) {
  if (window <= 0 || context + fresh <= window) {
    return fresh * context + fresh * (fresh + 1) / 2;
  }
  const double growing = std::clamp(window - context, 0.0, fresh);
  return growing * context + growing * (growing + 1) / 2 + (fresh - growing) * window;
}

// The prompt without a prefix that has as many pairs.
double square_side(double pairs) { return (std::sqrt(8 * pairs + 1) - 1) / 2; }

}  // namespace

PrefillShape::PrefillShape(std::span<const SequenceSlice> all) : slices(all) {
  for (const SequenceSlice& slice : slices) {
    mean_new += static_cast<double>(slice.new_tokens);
    mean_context += static_cast<double>(slice.context_tokens);
  }
  const auto count = static_cast<double>(std::max<size_t>(slices.size(), 1));
  mean_new /= count;
  mean_context /= count;
}

DecodeShape::DecodeShape(std::span<const SequenceSlice> all, int64_t padded) : slices(all) {
  const auto count = static_cast<double>(std::max<size_t>(slices.size(), 1));
  sequences = padded > 0 ? static_cast<double>(padded) : count;
  for (const SequenceSlice& slice : slices) {
    mean_keys += static_cast<double>(slice.context_tokens + slice.new_tokens);
  }
  // Padding sequences have one token each: they add blocks, hardly any keys.
  mean_keys = std::max(mean_keys / sequences, 1.0);
}

double prefill_attention_us(const StepAttention& attention, const PrefillShape& shape) {
  const auto count = static_cast<double>(shape.slices.size());
  const double window = attention.window;
  const double mean_pairs = pairs_of(shape.mean_new, shape.mean_context, window);
  double pairs = 0;
  for (const SequenceSlice& slice : shape.slices) {
    pairs += pairs_of(static_cast<double>(slice.new_tokens),
                      static_cast<double>(slice.context_tokens), window);
  }
  const double alone = attention.prefill.time_us(count, shape.mean_new);
  double one = alone;
  if (attention.window_in_curves) {
    one = alone * mean_pairs / pairs_of(shape.mean_new, 0, window);
  } else if (shape.mean_context > 0 || window > 0) {
    // Two limits: with blocks of queries on all multiprocessors, the work of the square with as
    // many pairs; with few blocks, the longest of them, which walks over all keys of its queries.
    const double square = attention.prefill.time_us(count, square_side(mean_pairs));
    const double keys = window > 0 ? std::min(window, shape.mean_new + shape.mean_context)
                                   : shape.mean_new + shape.mean_context;
    one = std::max(square, alone * std::min(keys / shape.mean_new,
                                            mean_pairs / pairs_of(shape.mean_new, 0, 0)));
  }
  return one * pairs / (count * mean_pairs);
}

double decode_attention_us(const StepAttention& attention, const DecodeShape& shape,
                           const KernelGpu& gpu) {
  if (attention.has_curves) {
    const double keys = attention.window > 0 && !attention.window_in_curves
                            ? std::min(attention.window, shape.mean_keys)
                            : shape.mean_keys;
    return attention.decode.time_us(shape.sequences, keys);
  }
  const double keys = shape.sequences * shape.mean_keys;
  return kLatentFloorUs + std::max(keys * attention.decode_bytes_per_key / gpu.bandwidth,
                                   keys * attention.decode_flops_per_key / gpu.peak_16bit) /
                              kLatentEfficiency;
}

}  // namespace dfsim::inline serving
