// A rate for each mode of GridSample, and laws of selection, one-hot rows and doubled images.
#include "opmodel/model/laws/cpu/plain_forms.h"

#include <algorithm>
#include <string_view>

#include "base/dtype.h"
#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_writer.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"

namespace dfsim::inline opmodel {

namespace {

bool has_four_axes(const std::vector<int64_t>& extents) { return extents.size() == 4; }

// Per result. Zeros around an image whose corners are not aligned are a vectorised case of its own;
// any other form asks a function for each pixel, and reflection computes with doubles.
double grid_sample_ns(const OpDescriptor& op) {
  constexpr double kVectors = 2.8;
  constexpr double kVolume = 86;
  const std::string_view mode = attribute_value(op.attributes, "mode");
  const bool reflects = attribute_value(op.attributes, "padding") == "reflection";
  const bool zeros = attribute_value(op.attributes, "padding") == "zeros";
  if (!has_four_axes(op.input_extents[0])) {
    return kVolume;
  }
  if (mode == "nearest") {
    return reflects ? 30 : 16;
  }
  if (mode == "cubic") {
    return reflects ? 135 : 53;
  }
  return reflects ? 61 : zeros && attribute_value(op.attributes, "align") == "0" ? kVectors : 38;
}

// Looks at each element; what it keeps goes through a heap, or is sorted where that is most.
double top_k_us(const OpDescriptor& op) {
  constexpr double kElementNs = 1.0;
  constexpr double kSelectedNs = 200;
  constexpr double kSortedShare = 0.6;  // saved where all are kept
  const double elements = element_count(op.input_extents[0]);
  const double selected = op.output_extents.empty() ? 0 : element_count(op.output_extents[0]);
  const double share = elements > 0 ? selected / elements : 0;
  return (elements * kElementNs + selected * kSelectedNs * (1 - kSortedShare * share)) / 1e3;
}

// Elements in a row that have one scale; 0 where one scale, or one per block, serves all.
double scale_run(const OpDescriptor& op) {
  const bool converts = op.op_type == "QuantizeLinear" || op.op_type == "DequantizeLinear";
  if (!converts || op.input_extents.size() < 2 || op.input_extents[1].size() != 1 ||
      op.input_extents[1][0] <= 1) {
    return 0;
  }
  const std::vector<size_t> axis = index_list(op, "axis");
  double run = 1;  // without an axis it is the innermost one
  for (size_t i = axis.size() == 1 ? axis[0] + 1 : op.input_extents[0].size();
       i < op.input_extents[0].size(); ++i) {
    run *= static_cast<double>(op.input_extents[0][i]);
  }
  return run;
}

// A scale per block of an axis: its kernel asks for the scale of each element, on one thread.
double blocked_scales_us(const OpDescriptor& op) {
  constexpr double kElementNs = 1.08;
  return element_count(op.input_extents[0]) * kElementNs / 1e3;
}

double short_scales_us(const OpDescriptor& op) {
  constexpr double kDequantisedRunNs = 1.65;
  constexpr double kQuantisedRunNs = 19.1;
  constexpr double kElementNs = 0.13;
  const double elements = element_count(op.input_extents[0]);
  const double run_ns = op.op_type == "QuantizeLinear" ? kQuantisedRunNs : kDequantisedRunNs;
  return (elements / scale_run(op) * run_ns + elements * kElementNs) / 1e3;
}

// Whole numbers are divided one at a time; bits are combined by a loop that threads share.
double integer_us(const OpDescriptor& op, int cores) {
  const bool inverts = op.op_type == "BitwiseNot";
  const bool combines =
      op.op_type == "BitwiseAnd" || op.op_type == "BitwiseOr" || op.op_type == "BitwiseXor";
  const DType dtype = op.input_dtypes.empty() ? DType::kUnknown : op.input_dtypes[0];
  if (!is_integer(dtype)) {
    return 0;
  }
  const bool wide = dtype_bits(dtype) > 32;
  const double one_us = element_count(op.output_extents[0]) / 1e3;
  if (combines || inverts) {
    return shared_by_cores(one_us * (combines ? 0.57 : wide ? 0.18 : 0.10), cores);
  }
  return op.op_type == "Div"   ? one_us * (wide ? 2.05 : 0.78)
         : op.op_type == "Mod" ? one_us * (wide ? 2.6 : 2.3)
                               : 0;
}

}  // namespace

// Rows of one element are pieces of short_pieces.h.
bool has_shared_mask(const OpDescriptor& op) {
  if (op.op_type != "Where" || op.input_extents.size() < 3 || op.output_extents.empty()) {
    return false;
  }
  const std::vector<int64_t>& mask = op.input_extents[0];
  const std::vector<int64_t>& y = op.output_extents[0];
  return !mask.empty() && !y.empty() && mask.back() == y.back() && y.back() > 1 &&
         element_count(mask) < element_count(y);
}

double window_taps(const OpDescriptor& op) {
  double taps = 1;
  for (const size_t extent : index_list(op, "kernel_shape")) {
    taps *= static_cast<double>(extent);
  }
  return taps;
}

bool has_short_scales(const OpDescriptor& op) {
  constexpr double kLong = 256;
  const double run = scale_run(op);
  return run > 0 && run < kLong;
}

bool has_activation_twin(const OpDescriptor& op) {
  return op.op_type == "Gelu" || (op.op_type == "com.microsoft.QuickGelu" &&
                                  !attribute_value(op.attributes, "scaled").empty());
}

OpDescriptor activation_twin(const OpDescriptor& op) {
  OpDescriptor twin = without_activation_attributes(op);
  const bool exact = op.op_type == "Gelu" && op.attributes.empty();
  twin.op_type = exact ? "com.microsoft.Gelu" : "com.microsoft.FastGelu";
  return twin;
}

OpDescriptor without_activation_attributes(const OpDescriptor& op) {
  OpDescriptor known = op;
  known.attributes.clear();
  return known;
}

bool has_blocked_scales(const OpDescriptor& op) {
  return op.op_type == "DequantizeLinear" && op.input_extents.size() >= 2 &&
         op.input_extents[1].size() > 1 &&
         op.input_extents[1].size() == op.input_extents[0].size() &&
         op.input_extents[1] != op.input_extents[0];
}

bool selects_along_inner_axis(const OpDescriptor& op) {
  if ((op.op_type != "ArgMax" && op.op_type != "ArgMin") || op.input_extents.empty() ||
      op.output_extents.empty()) {
    return false;
  }
  const std::vector<int64_t>& x = op.input_extents[0];
  const std::vector<int64_t>& y = op.output_extents[0];
  size_t axis = 0;  // the first that is not as in the input
  while (axis < x.size() && axis < y.size() && x[axis] == y[axis]) {
    ++axis;
  }
  return axis < x.size() && std::any_of(x.begin() + static_cast<ptrdiff_t>(axis) + 1, x.end(),
                                        [](int64_t extent) { return extent > 1; });
}

bool doubles_image(const OpDescriptor& op) {
  if ((op.op_type != "Resize" && op.op_type != "Upsample") || op.input_extents.empty() ||
      op.output_extents.empty() || !has_four_axes(op.input_extents[0]) ||
      !has_four_axes(op.output_extents[0]) || attribute_value(op.attributes, "mode") != "nearest" ||
      attribute_value(op.attributes, "coordinates") != "asymmetric") {
    return false;
  }
  const std::vector<int64_t>& x = op.input_extents[0];
  const std::vector<int64_t>& y = op.output_extents[0];
  return y[0] == x[0] && y[1] == x[1] && y[2] == 2 * x[2] && y[3] == 2 * x[3];
}

bool filters_image(const OpDescriptor& op) {
  return op.op_type == "Resize" && !attribute_value(op.attributes, "antialias").empty() &&
         !op.input_extents.empty() && !op.output_extents.empty() &&
         has_four_axes(op.input_extents[0]) && has_four_axes(op.output_extents[0]);
}

// From 512 to 128, 1,024 to 224 and 256 to 224 a side, linear and cubic, took 0.23 to 0.48 ns per
// tap on an EPYC Turin (plain_forms_turin.csv).
double filtered_image_us(const OpDescriptor& op) {
  constexpr double kTapNs = 0.38;
  const std::vector<int64_t>& x = op.input_extents[0];
  const std::vector<int64_t>& y = op.output_extents[0];
  const double width = attribute_value(op.attributes, "mode") == "cubic" ? 4 : 2;
  const auto taps = [&](size_t axis) {
    return width * std::max(1.0, static_cast<double>(x[axis]) / static_cast<double>(y[axis]));
  };
  if (std::ranges::any_of(x, [](int64_t e) { return e <= 0; }) ||
      std::ranges::any_of(y, [](int64_t e) { return e <= 0; })) {
    return 0;
  }
  const double rows = static_cast<double>(y[0] * y[1]) * static_cast<double>(x[2]);
  const double wide = rows * static_cast<double>(y[3]);
  return (wide * taps(3) + element_count(y) * taps(2)) * kTapNs / 1e3;
}

double plain_form_us(const OpDescriptor& op, int cores) {
  constexpr double kDoubledNs = 0.12;
  constexpr double kOneHotNs = 2.7;
  constexpr double kInnerSelectionNs = 2.6;
  constexpr double kMaskedNs = 1.1;    // twice as long where the mask's values follow no order
  constexpr double kNormTapNs = 20.3;  // a power of each element of a window
  if (op.input_extents.empty() || op.output_extents.empty()) {
    return 0;
  }
  const double results = element_count(op.output_extents[0]);
  if (op.op_type == "GridSample") {
    return shared_by_cores(results * grid_sample_ns(op) / 1e3, cores);
  }
  if (op.op_type == "TopK") {
    return top_k_us(op);
  }
  if (op.op_type == "OneHot") {
    return results * kOneHotNs / 1e3;
  }
  if (has_short_scales(op)) {
    return short_scales_us(op);
  }
  if (has_blocked_scales(op)) {
    return blocked_scales_us(op);
  }
  if (has_shared_mask(op)) {
    return results * kMaskedNs / 1e3;
  }
  if (const double us = integer_us(op, cores); us > 0) {
    return us;
  }
  if (filters_image(op)) {
    return shared_by_cores(filtered_image_us(op), cores);
  }
  if (op.op_type == "LpPool") {
    return shared_by_cores(results * window_taps(op) * kNormTapNs / 1e3, cores);
  }
  if (doubles_image(op)) {
    return results * kDoubledNs / 1e3;
  }
  return selects_along_inner_axis(op) ? element_count(op.input_extents[0]) * kInnerSelectionNs / 1e3
                                      : 0;
}

}  // namespace dfsim::inline opmodel
