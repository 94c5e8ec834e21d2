// Each operator's time is a sum: multiply-adds, a time per score or element, copies. Coefficients
// are of decoder_ops.csv, and of attention_ops.csv where they say so or are for caches by heads, in
// nanoseconds on one core with the rates of kernel_terms.h.
#include "opmodel/model/laws/cpu/decoder_kernels.h"

#include <algorithm>
#include <string_view>

#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_writer.h"
#include "opmodel/model/laws/cpu/expert_kernels.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"
#include "opmodel/model/laws/cpu/packed_weights.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kCopyBytesPerNs = 17;  // of a cache that grows, by one thread

double extent(const std::vector<std::vector<int64_t>>& extents, size_t operand, size_t axis) {
  const bool known = operand < extents.size() && axis < extents[operand].size();
  return known ? static_cast<double>(std::max<int64_t>(extents[operand][axis], 0)) : 0;
}

double elements(const std::vector<std::vector<int64_t>>& extents, size_t operand) {
  return operand < extents.size() ? element_count(extents[operand]) : 0;
}

double packed_product_ns(const OpDescriptor& op, const CoreRates& rates) {
  const double columns = op.output_extents.empty() || op.output_extents[0].empty()
                             ? 0
                             : static_cast<double>(op.output_extents[0].back());
  const double inner = op.input_extents.empty() || op.input_extents[0].empty()
                           ? 0
                           : static_cast<double>(op.input_extents[0].back());
  if (!(columns > 0) || !(inner > 0)) {
    return 0;
  }
  const double one_core_ns = packed_weights_ns(op.attributes, columns * inner,
                                               elements(op.input_extents, 0) / inner, rates);
  return std::max(rates.shared(one_core_ns),
                  static_cast<double>(op.work.weight_bytes) / rates.memory_bytes_per_ns);
}

// A score that a softcap bounds goes through a hyperbolic tangent, one at a time
// (attention_ops.csv).
double per_score_ns(const OpDescriptor& op, double plain_ns) {
  constexpr double kCappedNs = 9.2;
  return attribute_value(op.attributes, "softcap").empty() ? plain_ns : plain_ns + kCappedNs;
}

// A copy takes so much longer where the cache that grows exceeds an eighth of the processor's, as
// old and new one lie next to each other and to whatever else the loop touches.
double beyond_cache_ns(double bytes, const CoreRates& rates) {
  constexpr double kShareOfCache = 0.125;
  constexpr double kBytesPerNs = 9;
  return rates.bytes_beyond(kShareOfCache, bytes) / kBytesPerNs;
}

// Keys and values come from memory where they take more than a quarter of the cache.
double far_reads_ns(double bytes, const CoreRates& rates) {
  constexpr double kShareOfCache = 0.25;
  return rates.bytes_beyond(kShareOfCache, bytes) / kReadBytesPerNs;
}

// Bytes of caches that grow: `past` and `present` are the first of two operands and results. One
// with room for what comes is written in place.
double grown_bytes(const OpDescriptor& op, size_t past, size_t present) {
  constexpr double kElementBytes = 4;
  double copied = 0;
  for (size_t cache = 0; cache < 2; ++cache) {
    const double before = elements(op.input_extents, past + cache);
    const double after = elements(op.output_extents, present + cache);
    copied += before > 0 && after > before ? after * kElementBytes : 0;
  }
  return copied;
}

// Scores, their products with keys and values; few rows of queries do not fill the kernel of
// products. `projected`: multiply-adds that come before.
double scores_ns(const OpDescriptor& op, double queries, double per_score_ns,
                 const CoreRates& rates, double projected = 0) {
  constexpr double kFewRowsNs = 0.092;
  constexpr double kFlopsPerScore = 7;  // add_attention_work()
  const auto all = static_cast<double>(op.work.macs);
  const double macs = std::max(0.0, all - projected);
  const double scores = (static_cast<double>(op.work.flops) - 2 * all) / kFlopsPerScore;
  const double per_mac_ns = (kFp32ProductNs + kFewRowsNs / std::max(queries, 1.0)) / rates.fp32;
  return macs * per_mac_ns + scores * per_score_ns;
}

// A cache that grows is copied, by one thread after the other while it is small; one with room is
// written in place.
double grouped_attention_ns(const OpDescriptor& op, const CoreRates& rates) {
  constexpr double kStartNs = 10'000;
  constexpr double kScoreNs = 1.6;
  constexpr double kRotateNs = 0.9;
  constexpr size_t kFirstCache = 3;
  const double queries = extent(op.input_extents, 0, 1);
  const double copied = grown_bytes(op, kFirstCache, 1);
  const double rotated = elements(op.input_extents, 0) * kRotateNs;
  const double scores = scores_ns(op, queries, per_score_ns(op, kScoreNs), rates);
  return kStartNs + rates.shared(scores + rotated + beyond_cache_ns(copied, rates)) +
         copied / kCopyBytesPerNs;
}

// On one core. Keys and values are laid out by heads first, unless they have an axis of heads, as
// those of an encoder, which are read where they are.
double heads_ns(const OpDescriptor& op, const CoreRates& rates) {
  constexpr double kScoreNs = 0.9;
  constexpr double kLayNs = 0.27;
  constexpr double kElementBytes = 4;
  constexpr size_t kRankByHeads = 4;
  const bool by_heads = op.input_extents.size() > 1 && op.input_extents[1].size() == kRankByHeads;
  const double operands = elements(op.input_extents, 1) + elements(op.input_extents, 2);
  return scores_ns(op, extent(op.input_extents, 0, 1), per_score_ns(op, kScoreNs), rates) +
         (by_heads ? far_reads_ns(operands * kElementBytes, rates) : operands * kLayNs);
}

// Each head copies its part of a cache that grows.
double attention_of_heads_ns(const OpDescriptor& op, const CoreRates& rates) {
  constexpr double kHeadCopyBytesPerNs = 30;
  constexpr size_t kFirstCache = 6;
  const double copied = grown_bytes(op, kFirstCache, 1);
  return rates.shared(heads_ns(op, rates) + copied / kHeadCopyBytesPerNs +
                      beyond_cache_ns(copied, rates));
}

// One token: its scores and its mix of values, read in place. Beam search gives the cache and its
// result one buffer; other callers have it copied.
double masked_attention_ns(const OpDescriptor& op, const CoreRates& rates) {
  constexpr double kStartNs = 5'000;
  constexpr double kScoreNs = 0.9;
  constexpr double kElementBytes = 4;
  constexpr size_t kFirstCache = 5;
  const double copied = grown_bytes(op, kFirstCache, 1);
  const double read = static_cast<double>(op.work.macs) * kElementBytes;  // each once per query
  return kStartNs + rates.shared(scores_ns(op, 1, kScoreNs, rates) + far_reads_ns(read, rates)) +
         copied / kCopyBytesPerNs + beyond_cache_ns(copied, rates);
}

// Queries, keys and values are projected from one operand, by a weight that few rows wait for. A
// cache is copied as by grouped attention.
double projected_attention_ns(const OpDescriptor& op, const CoreRates& rates) {
  constexpr double kScoreNs = 0.9;
  const double columns = extent(op.input_extents, 1, 1);
  const double projected = elements(op.input_extents, 0) * columns;
  const double product_ns =
      std::max(rates.shared(projected * kFp32ProductNs / rates.fp32),
               static_cast<double>(op.work.weight_bytes) / rates.memory_bytes_per_ns);
  const double copied = elements(op.output_extents, 1) * 4;
  return product_ns + copied / kCopyBytesPerNs +
         rates.shared(scores_ns(op, extent(op.input_extents, 0, 1), kScoreNs, rates, projected));
}

// As attention of heads, with its cache copied.
double standard_attention_ns(const OpDescriptor& op, const CoreRates& rates) {
  const double copied = elements(op.output_extents, 1) + elements(op.output_extents, 2);
  return rates.shared(heads_ns(op, rates)) + copied * 4 / kCopyBytesPerNs;
}

// Queries, keys and values are projected in 8 bits, the rest is in fp32.
double quantised_attention_ns(const OpDescriptor& op, const CoreRates& rates) {
  constexpr double kScoreNs = 0.9;
  constexpr double kByteProductNs = 0.0116;
  const double projected = elements(op.input_extents, 0) * extent(op.input_extents, 1, 1);
  return rates.shared(projected * kByteProductNs / rates.int8 +
                      scores_ns(op, extent(op.input_extents, 0, 1), kScoreNs, rates, projected));
}

// ONNX's own Attention on operands of three axes.
bool is_flat_attention(const OpDescriptor& op) {
  constexpr size_t kFlatRank = 3;
  return op.op_type == "Attention" && !op.input_extents.empty() &&
         op.input_extents[0].size() == kFlatRank;
}

}  // namespace

double decoder_kernel_spread(const OpDescriptor& op) {
  constexpr double kMeasured = 1.3;  // of decoder_ops.csv, but for few rows
  constexpr double kTwoBits = 2;     // laws of other widths
  constexpr double kComposed = 2.5;  // laws of parts of other operators, which no campaign measured
  constexpr double kRouted = 1.5;    // of expert_ops.csv: which experts get rows decides
  constexpr double kFilled = 2;      // a cache with room says not how much of it is in use
  if (op.op_type.ends_with("MoE")) {
    return kRouted;
  }
  if (op.op_type == "com.microsoft.DecoderMaskedMultiHeadAttention") {
    return kFilled;
  }
  if (op.op_type == "com.microsoft.Attention" || is_flat_attention(op)) {
    return kComposed;
  }
  return op.op_type.ends_with("MatMulNBits") && attribute_value(op.attributes, "bits") == "2"
             ? kTwoBits
             : kMeasured;
}

double decoder_kernel_us(const OpDescriptor& op, const DeviceSpec& device) {
  constexpr std::string_view kVendor = "com.microsoft.";
  constexpr double kEmbeddingNs = 2.53;
  constexpr double kQuantisedEmbeddingNs = 4.5;
  const CoreRates rates = core_rates_of(device);
  if (!(rates.fp32 > 0)) {
    return 0;
  }
  if (is_flat_attention(op)) {
    return standard_attention_ns(op, rates) / 1e3;
  }
  if (!op.op_type.starts_with(kVendor)) {
    return 0;
  }
  const std::string_view type = std::string_view(op.op_type).substr(kVendor.size());
  const double ns = type == "MatMulNBits"                       ? packed_product_ns(op, rates)
                    : type == "GroupQueryAttention"             ? grouped_attention_ns(op, rates)
                    : type == "MultiHeadAttention"              ? attention_of_heads_ns(op, rates)
                    : type == "DecoderMaskedMultiHeadAttention" ? masked_attention_ns(op, rates)
                    : type == "MoE" || type == "QMoE"           ? experts_ns(op, rates)
                    : type == "Attention"                       ? projected_attention_ns(op, rates)
                    : type == "QAttention"                      ? quantised_attention_ns(op, rates)
                    : type == "EmbedLayerNormalization"
                        ? rates.shared(elements(op.output_extents, 0) * kEmbeddingNs)
                    : type == "QEmbedLayerNormalization"
                        ? rates.shared(elements(op.output_extents, 0) * kQuantisedEmbeddingNs)
                        : 0;
  return ns / 1e3;
}

}  // namespace dfsim::inline opmodel
