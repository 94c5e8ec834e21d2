// The constants are read off the public tables of aiconfigurator (vLLM's FlashAttention 2 on A100
// and L40S, 3 on H100 and H200), where they show plainly: one sequence with one head.
#include "opmodel/features/attention_waves.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {

namespace {

// A block of a decoding kernel reads 22.5 (A100) to 28 GB/s (L40S), whatever the head size.
constexpr double kBytesPerBlockUs = 25e3;
constexpr double kDecodingRows = 64;  // query rows of a tile: the heads that share a key head
constexpr double kKeyBlock = 128;
constexpr double kResidentBlocks = 2;
// Split keys need a second kernel that joins the parts.
constexpr double kJoinUs = 6;
// Units with this many matrix FLOP/s each (H100 7.5, A100 2.9, L40S 2.5 TFLOP/s) run kernels that
// always split; FlashAttention 2 splits only where several heads share their keys.
constexpr double kAsynchronousFlopsPerUnit = 5e12;
constexpr double kPrefillTile = 64;
constexpr double kPrefillEfficiency = 0.75;  // of the matrix units, in the middle of a long row

// Common to all blocks: sizes, and the rate of one unit.
struct Problem {
  double sequences;
  double heads;
  double key_heads;
  double queries;
  double keys;  // that a query may see
  double window;
  double size;
  bool causal;
  double units;
  double flops_per_us;  // of one unit
};

Problem problem_of(const OpGeometry& geometry, const DeviceSpec& device) {
  const auto& d = geometry.dims;
  const double units = std::max(device.compute_units, 1);
  const double window = d[dim::kWindow];
  return {.sequences = d[dim::kAB],
          .heads = std::max(d[dim::kHeads], 1.0),
          .key_heads = std::max(d[dim::kKvHeads], 1.0),
          .queries = d[dim::kQuery],
          .keys = window > 0 ? std::min(d[dim::kKeys], window + d[dim::kQuery] - 1) : d[dim::kKeys],
          .window = window,
          .size = d[dim::kSize],
          .causal = d[dim::kCausal] > 0,
          .units = units,
          .flops_per_us = device.peak_flops_per_s(geometry.dtype, true) / units / kUsPerSecond};
}

double decoding_us(const Problem& p, double bytes_per_element, bool asynchronous) {
  const double shared = p.heads / p.key_heads;
  const double blocks = p.sequences * p.key_heads * std::ceil(p.queries * shared / kDecodingRows);
  const double key_blocks = std::ceil(p.keys / kKeyBlock);
  const double splits = asynchronous || shared > 1 ? key_splits(blocks, key_blocks, p.units) : 1.0;
  const double read_us = 2 * kKeyBlock * p.size * bytes_per_element / kBytesPerBlockUs;
  const double compute_us =
      p.flops_per_us > 0 ? 4 * kDecodingRows * kKeyBlock * p.size / p.flops_per_us : 0;
  const double waves = std::ceil(blocks * splits / (kResidentBlocks * p.units));
  return waves * std::ceil(key_blocks / splits) * std::max(read_us, compute_us) +
         (splits > 1 ? kJoinUs : 0);
}

double prefill_us(const Problem& p) {
  const double all = std::ceil(p.keys / kPrefillTile) * kPrefillTile;
  const bool windowed = p.window > 0 && p.window < p.keys;
  const double longest = windowed ? std::min(p.window + kPrefillTile, all) : all;
  const double earlier = p.keys - p.queries;  // keys of the cache, which all queries see
  const double causal_mean = p.causal ? earlier + (p.queries + kPrefillTile) / 2 : all;
  const double mean = std::min(longest, causal_mean);
  const double blocks = std::ceil(p.queries / kPrefillTile) * p.sequences * p.heads;
  const double us_per_key = 4 * kPrefillTile * p.size / p.flops_per_us;
  return us_per_key * std::max(blocks * mean / p.units, longest) / kPrefillEfficiency;
}

}  // namespace

double key_splits(double blocks, double key_blocks, double units) {
  if (blocks >= 0.8 * units) {
    return 1;
  }
  constexpr int kMostSplits = 64;
  std::array<double, kMostSplits + 1> occupancy{};
  double best = 0;
  for (int s = 1; s <= kMostSplits; ++s) {
    const bool same_blocks = s > 1 && std::ceil(key_blocks / s) == std::ceil(key_blocks / (s - 1));
    if (s == 1 || (!same_blocks && s <= key_blocks)) {
      const double waves = blocks * s / units;
      occupancy[static_cast<size_t>(s)] = waves / std::ceil(waves);
      best = std::max(best, occupancy[static_cast<size_t>(s)]);
    }
  }
  for (int s = 1; s <= kMostSplits; ++s) {
    if (occupancy[static_cast<size_t>(s)] >= 0.85 * best) {
      return s;
    }
  }
  return 1;
}

double slowest_unit_us(const OpGeometry& geometry, const DeviceSpec& device) {
  if (geometry.family != Family::kAttention || device.type != DeviceType::kGpu) {
    return 0;
  }
  const Problem p = problem_of(geometry, device);
  if (p.queries <= 1) {
    const bool asynchronous = p.flops_per_us * kUsPerSecond >= kAsynchronousFlopsPerUnit;
    return decoding_us(p, dtype_bits(geometry.weight_dtype) / 8.0, asynchronous);
  }
  return p.flops_per_us > 0 ? prefill_us(p) : 0;
}

}  // namespace dfsim::inline opmodel
