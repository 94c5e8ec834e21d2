// A table of times per element, and the cost of a Fourier transform by its length.
#include "opmodel/model/laws/cpu/plain_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>

#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_writer.h"
#include "opmodel/features/op_form.h"
#include "opmodel/model/laws/cpu/decoder_kernels.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"
#include "opmodel/model/laws/cpu/plain_forms.h"
#include "opmodel/model/laws/cpu/reductions.h"
#include "opmodel/model/laws/other_cpus.h"

namespace dfsim::inline opmodel {

namespace {

struct PlainOp {
  std::string_view op_type;
  double last_ns;   // per element of the operand; over the last axis, where there is one
  double inner_ns;  // over an inner axis
  bool parallel;    // two threads took half of the time
};

// plain_ops.csv, with one thread (reductions: reductions.h); LpNormalization over its last axis
// from --extents 1,64,60,100, and Unique from plain_forms_turin.csv (44 to 970 ns there).
constexpr std::array kPlainOps = {
    PlainOp{"Acos", 0.68, 0.68, false},
    PlainOp{"Acosh", 23.9, 23.9, false},
    PlainOp{"ArgMin", 0.73, 0.73, true},  // inner axes: plain_forms.h
    PlainOp{"Asin", 1.43, 1.43, false},
    PlainOp{"Asinh", 30.8, 30.8, false},
    PlainOp{"Atan", 1.15, 1.15, false},
    PlainOp{"Atanh", 27.8, 27.8, false},
    PlainOp{"Celu", 2.76, 2.76, true},
    PlainOp{"Cosh", 9.76, 9.76, false},
    PlainOp{"CumSum", 2.40, 0.14, false},  // inner: adds whole slices
    PlainOp{"DepthToSpace", 2.43, 2.43, false},
    PlainOp{"GlobalLpPool", 14.2, 14.2, true},
    PlainOp{"GlobalMaxPool", 0.27, 0.27, true},
    PlainOp{"GroupNormalization", 1.51, 1.51, false},
    PlainOp{"Hardmax", 1.24, 10.7, false},
    PlainOp{"LRN", 31.9, 31.9, true},
    PlainOp{"LpNormalization", 1.66, 8.66, false},
    PlainOp{"Mish", 15.0, 15.0, true},
    PlainOp{"Mod", 7.50, 7.50, false},
    PlainOp{"NonZero", 22.5, 22.5, false},
    PlainOp{"PRelu", 3.3, 3.3, true},  // it branches: 6.05 for random signs, less for one sign
    PlainOp{"Selu", 2.35, 2.35, true},
    PlainOp{"Sign", 1.30, 1.30, false},
    PlainOp{"Sinh", 23.2, 23.2, false},
    PlainOp{"Tan", 16.2, 16.2, false},
    PlainOp{"Unique", 200, 200, false},  // a tree of what it has seen: by how many values differ
};

// Per point and doubling of a transform of 2^k points; ONNX Runtime makes other lengths into a
// convolution (Bluestein), for transforms of at least twice the length.
constexpr double kTransformNs = 2.15;
constexpr double kBluestein = 2.27;
// Values decide, too: by branches of PRelu, NaNs, the number of elements that are found.
constexpr double kValuesSpread = 1.8;
// Another processor, where the model knows the device itself and tells no spread of its own.
constexpr double kOtherProcessor = 1.4;
// An operator of one element (docs/notes/accuracy-experiments.md).
constexpr double kStartUs = 0.5;

double transform_ns(double points) {
  const auto transform_of_power = [](double power) {
    return kTransformNs * power * std::log2(std::max(power, 2.0));
  };
  const auto whole = static_cast<uint64_t>(points);
  return std::has_single_bit(whole)
             ? transform_of_power(points)
             : kBluestein * transform_of_power(static_cast<double>(std::bit_ceil(2 * whole - 1)));
}

// The length of a transform that makes `bins` out of `samples`. Descriptors do not say whether it
// returns half of the spectrum, which only real signals have.
int64_t transform_points(int64_t samples, int64_t bins, bool real) {
  const bool half =
      real && bins > 1 && bins != samples &&
      (bins == samples / 2 + 1 || std::has_single_bit(static_cast<uint64_t>(bins - 1)));
  return half ? 2 * (bins - 1) : bins;
}

// Transforms [batch, samples, 1] into [batch, frames, bins, 2].
double stft_us(const OpDescriptor& op) {
  constexpr size_t kWindow = 2;  // operand; without one, half a spectrum tells the length
  const std::vector<int64_t>& spectrum = op.output_extents[0];
  const bool has_window = op.input_extents.size() > kWindow &&
                          op.input_extents[kWindow].size() == 1 && op.input_extents[kWindow][0] > 0;
  const double points = has_window ? static_cast<double>(op.input_extents[kWindow][0])
                                   : 2.0 * static_cast<double>(spectrum[2] - 1);
  const double frames = static_cast<double>(spectrum[0]) * static_cast<double>(spectrum[1]);
  return points >= 1 ? frames * transform_ns(points) / 1e3 : 0;
}

// Transforms [..., samples, ..., 1 or 2] into [..., bins, ..., 2].
double dft_us(const OpDescriptor& op) {
  const std::vector<int64_t>& signal = op.input_extents[0];
  const std::vector<int64_t>& spectrum = op.output_extents[0];
  const std::vector<size_t> axis = index_list(op, "axis");
  const size_t at = axis.size() == 1 ? axis[0] : signal.size() - 2;
  if (at >= signal.size() || signal[at] < 1 || signal.back() < 1) {
    return 0;
  }
  const auto points =
      static_cast<double>(transform_points(signal[at], spectrum[at], signal.back() == 1));
  const double transforms =
      element_count(signal) / static_cast<double>(signal[at]) / static_cast<double>(signal.back());
  return points >= 1 ? transforms * transform_ns(points) / 1e3 : 0;
}

// STFT and DFT, which run on one thread; 0 for other operators.
double fourier_us(const OpDescriptor& op) {
  if (op.output_extents.empty() || op.input_extents.empty()) {
    return 0;
  }
  const size_t rank = op.output_extents[0].size();
  if (op.op_type == "STFT" && rank == 4) {
    return stft_us(op);
  }
  return op.op_type == "DFT" && rank >= 2 && op.input_extents[0].size() == rank ? dft_us(op) : 0;
}

// Each element of the output is the mean of samples between four neighbours. A ratio of 0 takes as
// many as the region has pixels per element: here three by three, as the values are not known.
double roi_align_us(const OpDescriptor& op, int cores) {
  constexpr double kSampleNs = 3.06;
  constexpr double kAdaptive = 3;
  const std::vector<size_t> ratio = index_list(op, "sampling_ratio");
  const double side = ratio.size() == 1 && ratio[0] > 0 ? static_cast<double>(ratio[0]) : kAdaptive;
  return op.output_extents.empty()
             ? 0
             : shared_by_cores(element_count(op.output_extents[0]) * side * side * kSampleNs / 1e3,
                               cores);
}

// Each class of each image sorts its boxes and compares each one, best first, with those that it
// has selected, until it has as many as the result has room for: 133 ms for 8,758 of 9,000 boxes of
// one class, measured once; 8.1 ms for 100 of 5,000 boxes of each of 80 classes on an EPYC Turin.
double suppression_us(const OpDescriptor& op) {
  constexpr double kSortNs = 12;
  constexpr double kComparisonNs = 3.5;
  if (op.op_type != "NonMaxSuppression" || op.input_extents.size() < 2 ||
      op.input_extents[1].size() != 3 || op.output_extents.empty() ||
      op.output_extents[0].empty()) {
    return 0;
  }
  const std::vector<int64_t>& scores = op.input_extents[1];
  const double lists = static_cast<double>(std::max<int64_t>(scores[0] * scores[1], 1));
  const auto boxes = static_cast<double>(scores[2]);
  const double selected = static_cast<double>(op.output_extents[0][0]) / lists;
  const double comparisons = selected * std::min(boxes - selected / 2, selected);
  return lists * (boxes * kSortNs + comparisons * kComparisonNs) / 1e3;
}

// Operators of ai.onnx.ml, from classic_ops.csv: trees take 2.8 to 6.6 ns per comparison, by how
// well branches are predicted and nodes stay in the cache.
double classic_us(const OpDescriptor& op, int cores) {
  constexpr double kComparisonNs = 4.3;
  constexpr double kSupportNs = 0.35;
  constexpr double kMapNs = 130;  // an entry of a map: 0.2 to 0.5 ms for 1,000 rows
  const std::string_view type = std::string_view(op.op_type).substr(op.op_type.rfind('.') + 1);
  const auto flops = static_cast<double>(op.work.flops);
  if (type.starts_with("TreeEnsemble")) {
    return shared_by_cores(flops * kComparisonNs / 1e3, cores);
  }
  const double elements = op.input_extents.empty() ? 0 : element_count(op.input_extents[0]);
  return type == "SVMClassifier" || type == "SVMRegressor" ? flops * kSupportNs / 1e3
         : type == "Scaler"                                ? elements * 3.4 / 1e3
         : type == "LinearClassifier"                      ? elements * 0.86 / 1e3
         : type == "LinearRegressor"                       ? elements * 0.5 / 1e3
         : type == "ZipMap"                                ? elements * kMapNs / 1e3
                                                           : 0;
}

// A running sum along the last axis waits for each addition; along others it adds whole slices.
bool adds_slices(const OpDescriptor& op) {
  const std::vector<size_t> axis = index_list(op, "axis");
  const std::vector<int64_t>& extents = op.input_extents[0];
  return axis.size() == 1 && axis[0] < extents.size() &&
         std::any_of(extents.begin() + static_cast<ptrdiff_t>(axis[0]) + 1, extents.end(),
                     [](int64_t extent) { return extent > 1; });
}

// Whether it works along an inner axis of several slices. Along the first axis that is not 1, ONNX
// Runtime works on whole slices, about as fast as along the last one.
bool steps_through_memory(const OpDescriptor& op) {
  const std::vector<size_t> axis = index_list(op, "axis");
  const std::vector<int64_t>& extents = op.input_extents[0];
  if (axis.size() != 1 || axis[0] >= extents.size()) {
    return false;
  }
  const auto at = extents.begin() + static_cast<ptrdiff_t>(axis[0]);
  const auto several = [](int64_t extent) { return extent != 1; };
  return std::any_of(extents.begin(), at, several) && std::any_of(at + 1, extents.end(), several);
}

// ONNX Runtime copies an image whose extents do not change, whatever the mode.
bool copies_image(const OpDescriptor& op) {
  return (op.op_type == "Resize" || op.op_type == "Upsample") && !op.input_extents.empty() &&
         !op.output_extents.empty() && op.input_extents[0] == op.output_extents[0];
}

// Operators whose form says less than their extents: a few rows of CumSum and OneHot do not tell
// how they grow.
bool form_misleads(const OpDescriptor& op) {
  return op.op_type == "CumSum" || op.op_type == "OneHot" || copies_image(op) ||
         doubles_image(op) || filters_image(op) || selects_along_inner_axis(op) ||
         has_short_scales(op) || has_blocked_scales(op) || has_shared_mask(op) ||
         reduces_unlike_form(op);
}

// Shape reads no element. Trees that saw it behind small tensors only take it for slower behind
// large ones.
void limit_shape(OpCost* cost) {
  constexpr TimeNs kLongestNs = 5'000;
  if (cost->time_ns > kLongestNs) {
    cost->low_ns = kLongestNs / 5;
    cost->time_ns = kLongestNs;
    cost->high_ns = 2 * kLongestNs;
  }
}

// How many times as fast the device is as the core of the law's constant: an EPYC Turin, at a rate
// of 2.5, took 0.63 of the time for the operators of the table (39, median) and 0.50 for those of
// plain_forms.h (54; plain_ops_turin.csv, plain_forms_turin.csv). A running sum waits for each
// addition, and scales for their addresses: both take about as long.
double kernel_speed(const OpDescriptor& op, const DeviceSpec& device) {
  const bool waits = op.op_type == "CumSum" || op.op_type == "DequantizeLinear";
  return waits ? 1 : std::sqrt(core_speed(device));
}

}  // namespace

double plain_kernel_us(const OpDescriptor& op, int cores) {
  if (op.op_type.starts_with("ai.onnx.ml.")) {
    return classic_us(op, cores);
  }
  const auto* const found =
      std::ranges::find(kPlainOps, std::string_view(op.op_type), &PlainOp::op_type);
  if (copies_image(op)) {
    constexpr double kCopyNs = 0.25;
    return element_count(op.input_extents[0]) * kCopyNs / 1e3;
  }
  if (const double us = plain_form_us(op, cores); us > 0) {
    return us;
  }
  if (const double us = reduction_kernel_us(op, cores); us > 0) {
    return us;
  }
  if (op.op_type == "RoiAlign") {
    return roi_align_us(op, cores);
  }
  if (const double us = suppression_us(op); us > 0) {
    return us;
  }
  if (found == kPlainOps.end() || op.input_extents.empty()) {
    return fourier_us(op);
  }
  const bool inner = op.op_type == "CumSum" ? adds_slices(op) : steps_through_memory(op);
  const double one_us =
      element_count(op.input_extents[0]) * (inner ? found->inner_ns : found->last_ns) / 1e3;
  return found->parallel ? shared_by_cores(one_us, cores) : one_us;
}

void apply_plain_kernel(const OpDescriptor& op, const OpGeometry& geometry,
                        const DeviceSpec& device, const ModelManifest& manifest, OpCost* cost) {
  if (device.type != DeviceType::kCpu || cost->source == CostSource::kMeasured) {
    return;
  }
  if (op.op_type == "Shape") {
    limit_shape(cost);
    return;
  }
  const double decoder_us = decoder_kernel_us(op, device);
  const double measured_us =
      decoder_us > 0 ? decoder_us
                     : plain_kernel_us(op, device.compute_units) / kernel_speed(op, device);
  // Attention with its projections is known at the sizes that campaigns measured, without a cache.
  const bool beyond = decoder_us > 0 && cost->source == CostSource::kExtrapolated &&
                      op.op_class == OpClass::kAttention;
  const bool known = !beyond && !form_misleads(op) && manifest.knows_form(op_form(op, geometry));
  if (!(measured_us > 0) || known) {
    return;
  }
  const double time_us = measured_us + kStartUs;
  // Values decide nothing in the operators of language models.
  const double spread = (decoder_us > 0 ? decoder_kernel_spread(op) : kValuesSpread) *
                        std::max(kOtherProcessor, other_cpu_spread(manifest, device));
  cost->time_ns = ns_from_seconds(time_us * 1e-6);
  cost->low_ns = ns_from_seconds(time_us / spread * 1e-6);
  cost->high_ns = ns_from_seconds(time_us * spread * 1e-6);
  cost->source = CostSource::kExtrapolated;
}

}  // namespace dfsim::inline opmodel
