// Each operator's time is a sum: multiply-adds, a time per score or element, copies. Coefficients
// are of decoder_ops.csv, in nanoseconds on one core with the rates of kernel_terms.h.
#include "opmodel/model/laws/cpu/decoder_kernels.h"

#include <algorithm>
#include <string_view>

#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_writer.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kProductNs = 0.0229;  // per multiply-add of fp32
// Weights come from memory: what one core reads, and the share of the bandwidth that reads reach,
// as in resident_weights.cc.
constexpr double kMemoryBytesPerNs = 20;
constexpr double kShareOfBandwidth = 0.65;
constexpr double kCopyBytesPerNs = 17;  // of a cache that grows

struct CoreRates {
  double fp32 = 0;  // times as fast as the measured core
  double int8 = 0;
  double memory_bytes_per_ns = kMemoryBytesPerNs;  // of all cores
  int cores = 1;

  double shared(double one_core_ns) const { return shared_by_cores(one_core_ns, cores); }
};

CoreRates rates_of(const DeviceSpec& device) {
  CoreRates rates;
  rates.cores = std::max(1, device.compute_units);
  rates.fp32 = device.peak_flops_per_s(DType::kFloat32, true) / rates.cores / kMeasuredFp32;
  const double int8 = device.peak_flops_per_s(DType::kInt8, true) / rates.cores / kMeasuredInt8;
  rates.int8 = int8 > 0 ? int8 : rates.fp32;
  rates.memory_bytes_per_ns = kMemoryBytesPerNs * rates.cores;
  if (device.memory_bytes_per_s > 0) {
    rates.memory_bytes_per_ns =
        std::min(rates.memory_bytes_per_ns, kShareOfBandwidth * device.memory_bytes_per_s * 1e-9);
  }
  return rates;
}

double extent(const std::vector<std::vector<int64_t>>& extents, size_t operand, size_t axis) {
  const bool known = operand < extents.size() && axis < extents[operand].size();
  return known ? static_cast<double>(std::max<int64_t>(extents[operand][axis], 0)) : 0;
}

double elements(const std::vector<std::vector<int64_t>>& extents, size_t operand) {
  return operand < extents.size() ? element_count(extents[operand]) : 0;
}

// Unpacking takes time per weight, whatever the number of rows; level 4 multiplies in 8 bits. One
// row at level 0 has a kernel of its own. Weights of 4 bits gain nothing from VNNI: on a Cascade
// Lake their products followed the rate of fp32, those of 8 bits that of 8 bits.
struct PackedCosts {
  double unpack_ns;
  double product_ns;
  double one_row_ns;  // instead of both
  bool int8;
};

// ONNX Runtime has no kernel for the type: it writes the weights out in fp32, then runs a plain
// product.
constexpr PackedCosts kWrittenOut = {2.5, kProductNs, 2.5, false};

// No campaign measured 2 bits. ONNX Runtime 1.32 has kernels for them at level 4 only: its results
// have the error of activations in 8 bits there, and that of fp32 at other levels.
PackedCosts packed_costs(std::string_view attributes) {
  const std::string_view bits = attribute_value(attributes, "bits");
  const bool in_8_bits = attribute_value(attributes, "accuracy_level") == "4";
  if (in_8_bits) {
    return bits == "8" ? PackedCosts{0.026, 0.0353, 0.071, true}
                       : PackedCosts{0.017, 0.0232, 0.041, false};
  }
  return bits == "2" || bits == "8" ? kWrittenOut : PackedCosts{0.275, kProductNs, 0.15, false};
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
  const PackedCosts costs = packed_costs(op.attributes);
  const double weights = columns * inner;
  const double rows = elements(op.input_extents, 0) / inner;
  const double product_rate = costs.int8 ? rates.int8 : rates.fp32;
  const double one_core_ns =
      rows <= 1 ? weights * costs.one_row_ns / rates.fp32
                : weights * (costs.unpack_ns / rates.fp32 + rows * costs.product_ns / product_rate);
  return std::max(rates.shared(one_core_ns),
                  static_cast<double>(op.work.weight_bytes) / rates.memory_bytes_per_ns);
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
  const double per_mac_ns = (kProductNs + kFewRowsNs / std::max(queries, 1.0)) / rates.fp32;
  return macs * per_mac_ns + scores * per_score_ns;
}

// A cache that grows is copied, by one thread after the other; one with room is written in place.
double grouped_attention_ns(const OpDescriptor& op, const CoreRates& rates) {
  constexpr double kStartNs = 10'000;
  constexpr double kScoreNs = 1.6;
  constexpr double kRotateNs = 0.9;
  constexpr size_t kFirstCache = 3;
  const double queries = extent(op.input_extents, 0, 1);
  double copied = 0;
  for (size_t cache = 0; cache < 2; ++cache) {
    const double before = elements(op.input_extents, kFirstCache + cache);
    const double after = elements(op.output_extents, 1 + cache);
    copied += after > before ? after * 4 : 0;
  }
  const double rotated = elements(op.input_extents, 0) * kRotateNs;
  return kStartNs + rates.shared(scores_ns(op, queries, kScoreNs, rates) + rotated) +
         copied / kCopyBytesPerNs;
}

// Keys and values are laid out by heads first.
double attention_of_heads_ns(const OpDescriptor& op, const CoreRates& rates) {
  constexpr double kScoreNs = 0.9;
  constexpr double kLayNs = 0.27;
  const double laid = elements(op.input_extents, 1) + elements(op.input_extents, 2);
  return rates.shared(scores_ns(op, extent(op.input_extents, 0, 1), kScoreNs, rates) +
                      laid * kLayNs);
}

// Queries, keys and values are projected from one operand, by a weight that few rows wait for. A
// cache is copied as by grouped attention.
double projected_attention_ns(const OpDescriptor& op, const CoreRates& rates) {
  constexpr double kScoreNs = 0.9;
  const double columns = extent(op.input_extents, 1, 1);
  const double projected = elements(op.input_extents, 0) * columns;
  const double product_ns =
      std::max(rates.shared(projected * kProductNs / rates.fp32),
               static_cast<double>(op.work.weight_bytes) / rates.memory_bytes_per_ns);
  const double copied = elements(op.output_extents, 1) * 4;
  return product_ns + copied / kCopyBytesPerNs +
         rates.shared(scores_ns(op, extent(op.input_extents, 0, 1), kScoreNs, rates, projected));
}

// As attention of heads, with its cache copied.
double standard_attention_ns(const OpDescriptor& op, const CoreRates& rates) {
  const double copied = elements(op.output_extents, 1) + elements(op.output_extents, 2);
  return attention_of_heads_ns(op, rates) + copied * 4 / kCopyBytesPerNs;
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
  const CoreRates rates = rates_of(device);
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
  const double ns = type == "MatMulNBits"           ? packed_product_ns(op, rates)
                    : type == "GroupQueryAttention" ? grouped_attention_ns(op, rates)
                    : type == "MultiHeadAttention"  ? attention_of_heads_ns(op, rates)
                    : type == "Attention"           ? projected_attention_ns(op, rates)
                    : type == "QAttention"          ? quantised_attention_ns(op, rates)
                    : type == "EmbedLayerNormalization"
                        ? rates.shared(elements(op.output_extents, 0) * kEmbeddingNs)
                    : type == "QEmbedLayerNormalization"
                        ? rates.shared(elements(op.output_extents, 0) * kQuantisedEmbeddingNs)
                        : 0;
  return ns / 1e3;
}

}  // namespace dfsim::inline opmodel
