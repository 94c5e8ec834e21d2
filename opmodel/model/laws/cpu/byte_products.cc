// Which operands are activations and weights, then a time per multiply-add, weight and result.
#include "opmodel/model/laws/cpu/byte_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "opmodel/features/feature_writer.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"

namespace dfsim::inline opmodel {

namespace {

struct ByteOperands {
  std::string_view op_type;
  size_t weight;
};

constexpr std::array kByteProducts = {
    ByteOperands{"QLinearConv", 3},
    ByteOperands{"com.microsoft.QLinearConv", 3},  // with its channels last
    ByteOperands{"ConvInteger", 1},
    ByteOperands{"QLinearMatMul", 3},
    ByteOperands{"MatMulInteger", 1},
    ByteOperands{"com.microsoft.QGemm", 3},
    ByteOperands{"com.microsoft.MatMulIntegerToFloat", 1},
    ByteOperands{"com.microsoft.DynamicQuantizeMatMul", 1},
};

// The position of the weights, where the operator is such a product.
std::optional<size_t> weight_operand(const OpDescriptor& op) {
  const auto* const found =
      std::ranges::find(kByteProducts, std::string_view(op.op_type), &ByteOperands::op_type);
  if (found == kByteProducts.end() || found->weight >= op.input_dtypes.size() ||
      op.input_extents.size() <= found->weight) {
    return std::nullopt;
  }
  return found->weight;
}

bool is_x86(const DeviceSpec& device) {
  constexpr std::array<std::string_view, 5> kNames = {"AMD", "Intel", "EPYC", "Xeon", "Ryzen"};
  return device.type == DeviceType::kCpu && std::ranges::any_of(kNames, [&](std::string_view name) {
           return device.model.find(name) != std::string::npos;
         });
}

// With VNNI, one instruction multiplies and adds four bytes per lane, twice what three did before.
bool has_vnni(const DeviceSpec& device) {
  constexpr double kLeastGain = 2.6;
  return device.peak_flops_per_s(DType::kInt8, true) >
         kLeastGain * device.peak_flops_per_s(DType::kFloat32, true);
}

// One input channel per group: no product of matrices.
bool is_depthwise(const OpDescriptor& op, size_t weight) {
  const std::vector<size_t> group = index_list(op, "group");
  const std::vector<int64_t>& extents = op.input_extents[weight];
  return extents.size() > 2 && extents[1] == 1 && group.size() == 1 && group[0] > 1;
}

// Measured: 3.1 to 3.4 with 128 rows, 2.9 with 16, where weights have to be read and packed 1.3
// with one; convolutions 2.6 to 4.2 (at 49 to 3136 pixels), with few channels for each result 1.2
// to 1.3, depthwise 2.3.
double widened_next_to_vnni(const OpDescriptor& op, size_t weight) {
  constexpr double kMost = 2.2;  // above 1
  constexpr double kHalfRows = 8;
  constexpr double kFewProducts = 0.3;
  constexpr double kDepthwise = 1.3;
  constexpr double kFewChannels = 16;
  const std::vector<int64_t>& extents = op.input_extents[weight];
  if (op.op_class == OpClass::kConv && extents.size() > 2) {
    if (is_depthwise(op, weight)) {
      return 1 + kDepthwise;
    }
    return 1 + (static_cast<double>(extents[1]) <= kFewChannels ? kFewProducts : kMost);
  }
  const double weights = element_count(extents);
  const double rows = weights > 0 ? static_cast<double>(op.work.macs) / weights : 0;
  return 1 + kMost * rows / (rows + kHalfRows);
}

}  // namespace

double signed_product_us(const OpDescriptor& op, const DeviceSpec& device) {
  constexpr double kProductNs = 0.0725;  // per multiply-add
  constexpr double kConvIntegerNs = 0.125;
  constexpr double kResultNs = 1;
  // Weights are packed in each run; convolutions do so for each tile of pixels.
  constexpr double kPackNs = 0.75;
  constexpr double kTiles = 4;
  const auto weight = weight_operand(op);
  const double core_rate = device.peak_flops_per_s(DType::kFloat32, true) /
                           std::max(1, device.compute_units) / kMeasuredFp32;
  // The weights are the left side of ConvInteger's product, whatever the image is.
  const bool integer = op.op_type == "ConvInteger";
  if (!weight || op.input_dtypes[*weight] != DType::kInt8 ||
      (op.input_dtypes[0] != DType::kInt8 && !integer) || !is_x86(device) || !(core_rate > 0)) {
    return 0;
  }
  const bool conv = op.op_class == OpClass::kConv;
  const double results = op.output_extents.empty() ? 0 : element_count(op.output_extents[0]);
  if (is_depthwise(op, *weight)) {
    constexpr double kDepthwiseNs = 23;  // per result: a product for each channel
    return integer ? shared_by_cores(results * kDepthwiseNs / core_rate, device.compute_units) / 1e3
                   : 0;
  }
  const double one_core_ns =
      static_cast<double>(op.work.macs) * (integer ? kConvIntegerNs : kProductNs) +
      results * kResultNs +
      element_count(op.input_extents[*weight]) * kPackNs * (conv ? kTiles : 1);
  return shared_by_cores(one_core_ns / core_rate, device.compute_units) / 1e3;
}

double unsigned_weights_factor(const OpDescriptor& op, const DeviceSpec& device) {
  constexpr double kWidened = 1.33;
  const auto weight = weight_operand(op);
  // Two activations are both unsigned; rows of campaigns have those.
  const bool widened = weight && op.input_dtypes[*weight] == DType::kUInt8 &&
                       op.input_dtypes[0] != DType::kInt8 && op.work.weight_bytes > 0 &&
                       is_x86(device);
  if (!widened) {
    return 1;
  }
  return has_vnni(device) ? widened_next_to_vnni(op, *weight) : kWidened;
}

void apply_byte_product(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost) {
  constexpr double kSpread = 1.8;
  constexpr double kSpreadNextToVnni = 1.4;
  if (cost->source == CostSource::kMeasured) {
    return;
  }
  if (const double signed_us = signed_product_us(op, device); signed_us > 0) {
    cost->time_ns = ns_from_seconds(signed_us * 1e-6);
    cost->low_ns = ns_from_seconds(signed_us / kSpread * 1e-6);
    cost->high_ns = ns_from_seconds(signed_us * kSpread * 1e-6);
    cost->source = CostSource::kExtrapolated;
    return;
  }
  const double factor = unsigned_weights_factor(op, device);
  if (factor == 1) {
    return;
  }
  // Next to VNNI, shapes differ more: times are of one machine.
  const double spread = has_vnni(device) ? kSpreadNextToVnni : 1;
  const auto scale = [](TimeNs* time, double by) {
    *time = std::llround(static_cast<double>(*time) * by);
  };
  scale(&cost->time_ns, factor);
  scale(&cost->low_ns, factor / spread);
  scale(&cost->high_ns, factor * spread);
  if (has_vnni(device)) {
    cost->source = CostSource::kExtrapolated;
  }
}

}  // namespace dfsim::inline opmodel
