// Between fp32 and fp16: TF32 moves the bytes of fp32 and multiplies at half the rate of fp16, but
// converts layouts as fp16 does (layout_time.h). 1x1 convolutions are mostly bytes, so both
// neighbours say something of them. Windows are mostly products: they follow fp16, unless cuDNN
// finds the kernel of fp32 faster.
#include "opmodel/model/laws/neighbours/neighbour_dtypes.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "opmodel/features/feature_family.h"

namespace dfsim::inline opmodel {

namespace {

// Weight of fp16 in the logarithm of a 1x1 convolution's time.
constexpr double kPointsNarrow = 0.6;
constexpr double kWindowsOverNarrow = 1.35;
// Four fifths of the measured times are within this factor of the law, each way.
constexpr double kTf32Spread = 1.45;

// Products of 8 bits over those of 16 that take more than 100 us, both by TensorRT-LLM: medians in
// AIConfigurator's tables of A100, H100, H200 and L40S are 0.56 to 0.69, and 0.82 in one of them
// (datasets/collect/byte_products_share.py).
constexpr double kBytesOverHalf = 0.65;
// In the same tables, where 16 bits take 30 us and more, four fifths of the products of 8 bits take
// at most 1.2 to 1.8 times the law, by board, although they quantise their activations, too.
constexpr double kByteSpread = 2.0;

// A product of one row reads its matrix once. 24 shapes that an H100 and an H200 ran in both types
// (datasets/measured) took 0.7 to 1.72 times as long in fp32 as in fp16, never twice as long.
constexpr double kVectorOverHalf = 2.0;

bool is_byte(DType dtype) { return dtype_bits(dtype) == 8; }

bool is_one_of_groups(const OpGeometry& geometry) {
  return geometry.kind.starts_with("depthwise") || geometry.kind.starts_with("grouped");
}

void set_dtype(DType dtype, OpDescriptor* op) {
  op->dtype = dtype;
  op->work.dtype = dtype;
}

bool has_one_row(const OpDescriptor& op) {
  return op.dtype == DType::kFloat32 && op.op_class == OpClass::kMatMul &&
         !op.output_extents.empty() && !op.output_extents[0].empty() &&
         std::all_of(op.output_extents[0].begin(), op.output_extents[0].end() - 1,
                     [](int64_t extent) { return extent == 1; });
}

bool is_vector_product(const OpDescriptor& op, const OpGeometry& geometry) {
  return geometry.family == Family::kGemm && geometry.kind == "linear" && has_one_row(op);
}

// Operands of fp32 become fp16; indices and the like stay.
OpDescriptor as_fp16(const OpDescriptor& op) {
  OpDescriptor half = op;
  set_dtype(DType::kFloat16, &half);
  for (auto* dtypes : {&half.input_dtypes, &half.output_dtypes}) {
    std::ranges::replace(*dtypes, DType::kFloat32, DType::kFloat16);
  }
  return half;
}

// Without scales, zero points and bias. Engines of 8 bits keep their own layout from one
// convolution to the next, so the neighbour does not convert either.
OpDescriptor byte_as_fp16(const OpDescriptor& op) {
  const size_t right = right_operand(op);
  OpDescriptor half = op;
  set_dtype(DType::kFloat16, &half);
  half.input_extents = {op.input_extents[0], op.input_extents[right]};
  half.input_dtypes = {DType::kFloat16, DType::kFloat16};
  half.output_dtypes.assign(op.output_dtypes.size(), DType::kFloat16);
  if (op.op_class == OpClass::kConv) {
    half.op_type = "Conv";
    half.attributes = std::string(kChannelsLast) + "=1;" + op.attributes;
  } else {
    half.op_type = op.attributes.find("transB=1") == std::string::npos ? "MatMul" : "Gemm";
  }
  return half;
}

bool is_on_bytes(const OpDescriptor& op, const OpGeometry& geometry) {
  const bool product = geometry.family == Family::kGemm || geometry.family == Family::kConv;
  const size_t right = right_operand(op);
  return product && is_byte(geometry.dtype) && right < op.input_dtypes.size() &&
         is_byte(op.input_dtypes[0]) && is_byte(op.input_dtypes[right]);
}

// No longer than `limit_ns`, with an upper end of no more than `spread` times that.
void limit_to(double limit_ns, double spread, OpCost* cost) {
  if (limit_ns <= 0) {
    return;
  }
  if (static_cast<double>(cost->time_ns) > limit_ns) {
    rescale(limit_ns, cost);
  }
  cost->high_ns =
      std::min(cost->high_ns, std::max<TimeNs>(cost->time_ns, std::llround(limit_ns * spread)));
}

// Half the bytes at twice the rate; the start of a kernel takes as long as before.
double byte_limit_ns(const OpCost& narrow, const DeviceSpec& device) {
  const auto whole_ns = static_cast<double>(narrow.time_ns);
  const double start_ns = std::min(static_cast<double>(device.launch_overhead_ns), whole_ns);
  return start_ns + (whole_ns - start_ns) * kBytesOverHalf;
}

bool is_of_model(const OpCost& cost) {
  return cost.time_ns > 0 && cost.source != CostSource::kPrior &&
         cost.source != CostSource::kBoundOnly;
}

void set_between(const OpGeometry& geometry, const OpCost& wide, const OpCost& narrow,
                 OpCost* cost) {
  const bool points = geometry.dims[dim::kKH] * geometry.dims[dim::kKW] <= 1;
  const auto wide_ns = static_cast<double>(wide.time_ns);
  const auto narrow_ns = static_cast<double>(narrow.time_ns);
  const double between_ns =
      points ? std::pow(narrow_ns, kPointsNarrow) * std::pow(wide_ns, 1 - kPointsNarrow)
             : narrow_ns * kWindowsOverNarrow;
  const double time_ns = std::min(between_ns, wide_ns);
  cost->time_ns = std::llround(time_ns);
  cost->low_ns = std::llround(time_ns / kTf32Spread);
  cost->high_ns = std::llround(time_ns * kTf32Spread);
  cost->source = CostSource::kExtrapolated;
}

}  // namespace

bool runs_as_fp32(const OpDescriptor& op) {
  if (op.dtype != DType::kTFloat32) {
    return false;
  }
  return op.op_class == OpClass::kAttention ||
         (op.op_class == OpClass::kConv && is_one_of_groups(geometry_of(op)));
}

OpDescriptor as_fp32(const OpDescriptor& op) {
  OpDescriptor wide = op;
  if (op.dtype == DType::kTFloat32) {
    set_dtype(DType::kFloat32, &wide);
  }
  return wide;
}

bool may_have_dtype_neighbours(const OpDescriptor& op, CostSource source) {
  return (op.dtype == DType::kTFloat32 && source != CostSource::kMeasured) || is_byte(op.dtype) ||
         (source == CostSource::kPrior && has_one_row(op));
}

std::optional<DTypeNeighbours> dtype_neighbours(const OpDescriptor& op, const OpGeometry& geometry,
                                                const DeviceSpec& device) {
  if (device.type != DeviceType::kGpu) {
    return std::nullopt;
  }
  if (geometry.dtype == DType::kTFloat32 && geometry.family == Family::kConv &&
      !is_one_of_groups(geometry)) {
    return DTypeNeighbours{as_fp32(op), as_fp16(op)};
  }
  if (is_on_bytes(op, geometry)) {
    return DTypeNeighbours{std::nullopt, byte_as_fp16(op)};
  }
  if (is_vector_product(op, geometry)) {
    return DTypeNeighbours{std::nullopt, as_fp16(op)};
  }
  return std::nullopt;
}

void apply_dtype_neighbours(const OpGeometry& geometry, const DeviceSpec& device,
                            const OpCost& wide, const OpCost& narrow, OpCost* cost) {
  if (cost->time_ns <= 0) {
    return;
  }
  if (geometry.dtype == DType::kFloat32) {
    if (cost->source == CostSource::kPrior && narrow.time_ns > 0) {
      const auto half_ns = static_cast<double>(narrow.time_ns);
      limit_to(half_ns * kVectorOverHalf, static_cast<double>(narrow.high_ns) / half_ns, cost);
    }
    return;
  }
  if (geometry.dtype != DType::kTFloat32) {
    // Also where it was measured: with the kernel that quantises its activations.
    const TimeNs before_ns = cost->time_ns;
    limit_to(byte_limit_ns(narrow, device), kByteSpread, cost);
    if (cost->time_ns < before_ns && cost->source == CostSource::kMeasured) {
      cost->source = CostSource::kExtrapolated;
    }
    return;
  }
  if (cost->source == CostSource::kMeasured) {
    return;
  }
  if (is_of_model(wide) && is_of_model(narrow)) {
    set_between(geometry, wide, narrow, cost);
  } else {
    const auto wide_ns = static_cast<double>(wide.time_ns);
    limit_to(wide_ns, static_cast<double>(wide.high_ns) / std::max(wide_ns, 1.0), cost);
  }
}

}  // namespace dfsim::inline opmodel
