// Signal processing: Fourier transforms, windows, mel filters; determinants.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graphs/ops/families/nn/fold_nn.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

std::optional<int64_t> scalar_of(const InferContext& context, size_t input) {
  const auto values = context.has_input(input) ? context.ints(input) : std::nullopt;
  return values && values->size() == 1 && (*values)[0] >= 0 ? std::optional((*values)[0])
                                                            : std::nullopt;
}

Dim half_spectrum(Dim length, bool one_sided) {
  return one_sided && length.known() ? Dim(length.extent() / 2 + 1) : length;
}

// [..., signal, ..., 1 or 2] to [..., spectrum, ..., 2].
Status infer_dft(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  if (x.rank() < 2) {
    return context.error(fmt::format("input {}: expected rank 2 or more", format_shape(x)));
  }
  const bool axis_is_input = context.version() >= 20;
  int64_t given = context.attributes().int_or("axis", axis_is_input ? -2 : 1);
  if (axis_is_input && context.has_input(2)) {
    const auto value = context.ints(2);
    if (!value || value->size() != 1) {
      return ok_status();
    }
    given = (*value)[0];
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(given, x.rank()));
  Dims dims = x.dims();
  Dim& length = dims[static_cast<size_t>(axis)];
  if (context.has_input(1)) {
    const auto asked = scalar_of(context, 1);
    length = asked ? Dim(*asked) : Dim::unknown();
  }
  const bool one_sided = context.attributes().int_or("onesided", 0) != 0;
  const bool inverse = context.attributes().int_or("inverse", 0) != 0;
  if (one_sided && inverse) {  // half a spectrum back to real samples; an even number unless given
    if (!context.has_input(1) && length.known()) {
      length = Dim(std::max<int64_t>(0, 2 * (length.extent() - 1)));
    }
  } else {
    length = half_spectrum(length, one_sided);
  }
  dims.back() = Dim(one_sided && inverse ? 1 : 2);
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// signal [batch, length, 1 or 2] to [batch, frames, bins, 2].
Status infer_stft(InferContext& context) {
  const Shape& x = context.shape(0);
  const auto step = scalar_of(context, 1);
  auto frame = scalar_of(context, 3);
  const Shape& window = context.shape(2);
  if (!frame && window.rank() == 1 && window[0].known()) {
    frame = window[0].extent();
  }
  if (x.rank() < 2 || !step || !frame || !x[1].known()) {
    return ok_status();
  }
  if (*step == 0 || *frame > x[1].extent()) {
    return context.error(fmt::format("frames of {} every {} do not fit a signal of {}", *frame,
                                     *step, x[1].extent()));
  }
  const int64_t frames = (x[1].extent() - *frame) / *step + 1;
  const bool one_sided = context.attributes().int_or("onesided", 1) != 0;
  context.set_output(0, context.dtype(0),
                     Shape({x[0], Dim(frames), half_spectrum(Dim(*frame), one_sided), Dim(2)}));
  return ok_status();
}

DType output_dtype_attribute(const InferContext& context) {
  return dtype_from_onnx(context.attributes().int_or("output_datatype", 1));
}

Status infer_window_function(InferContext& context) {
  const auto size = scalar_of(context, 0);
  context.set_output(0, output_dtype_attribute(context),
                     Shape({size ? Dim(*size) : Dim::unknown()}));
  return ok_status();
}

Status infer_mel_weights(InferContext& context) {
  const auto bins = scalar_of(context, 0);
  const auto length = scalar_of(context, 1);
  context.set_output(
      0, output_dtype_attribute(context),
      Shape({length ? Dim(*length / 2 + 1) : Dim::unknown(), bins ? Dim(*bins) : Dim::unknown()}));
  return ok_status();
}

Status infer_determinant(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  if (x.rank() < 2) {
    return context.error(fmt::format("input {}: expected matrices", format_shape(x)));
  }
  context.set_output(0, context.dtype(0), Shape(Dims(x.dims().begin(), x.dims().end() - 2)));
  return ok_status();
}

// 5 n log2(n) operations per transform of n points (Cooley and Tukey), by number of output points.
void work_fourier(WorkContext& context) {
  const Shape& out = context.first_output().shape;
  int64_t longest = 2;
  for (int i = 0; i + 1 < out.rank(); ++i) {
    longest = std::max(longest, out[i].extent());
  }
  context.add_flops(out.elements(),
                    2.5 * std::log2(static_cast<double>(longest)));  // 2 elements per point
}

// Gaussian elimination: 2/3 n^3 per matrix.
void work_determinant(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  context.add_flops(x.elements() * Count(x[x.rank() - 1].extent()), 2.0 / 3.0);
}

// Sums of cosines: a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N).
void fold_window(InferContext& context) {
  const auto extents = small_extents(context, 0);
  const DType dtype = context.output_dtype(0);
  if (!extents || extents->size() != 1 || !is_floating(dtype) || !has_arithmetic(dtype)) {
    return;
  }
  const std::string& type = context.op().op_type;
  const double a0 = type == "HannWindow" ? 0.5 : type == "HammingWindow" ? 25.0 / 46 : 0.42;
  const double a1 = type == "BlackmanWindow" ? 0.5 : 1 - a0;
  const double a2 = type == "BlackmanWindow" ? 0.08 : 0;
  const bool periodic = context.attributes().int_or("periodic", 1) != 0;
  const int64_t length = (*extents)[0];
  const double period = static_cast<double>(periodic ? length : length - 1);
  constexpr double kTurn = 6.283185307179586;
  ConstValue out = empty_value(dtype, *extents);
  for (int64_t n = 0; n < length; ++n) {
    const double angle = kTurn * static_cast<double>(n) / period;
    append_double(&out, a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  context.set_value(0, std::move(out));
}

// clang-format off
constexpr OpDef kSignalOps[] = {
    {.op_type = "DFT", .infer = infer_dft, .work = work_fourier, .fold = fold_dft},
    {.op_type = "STFT", .infer = infer_stft, .work = work_fourier, .fold = fold_stft,
     .required_inputs = 2},
    {.op_type = "BlackmanWindow", .op_class = OpClass::kElementwise, .infer = infer_window_function,
     .work = work_per_element, .fold = fold_window, .flops_per_element = 6},
    {.op_type = "HammingWindow", .op_class = OpClass::kElementwise, .infer = infer_window_function,
     .work = work_per_element, .fold = fold_window, .flops_per_element = 3},
    {.op_type = "HannWindow", .op_class = OpClass::kElementwise, .infer = infer_window_function,
     .work = work_per_element, .fold = fold_window, .flops_per_element = 3},
    {.op_type = "MelWeightMatrix", .op_class = OpClass::kElementwise, .infer = infer_mel_weights,
     .work = work_per_element, .fold = fold_mel_weights, .flops_per_element = 3,
     .required_inputs = 5},
    {.op_type = "Det", .infer = infer_determinant, .work = work_determinant, .fold = fold_det},
};
// clang-format on

constexpr WorkNote kSignalNotes[] = {
    {work_fourier, "2.5 x log2(longest transformed axis) per output element"},
    {work_determinant, "2/3 n^3 per matrix"},
};

}  // namespace

OpFamily signal_op_defs() { return {kSignalOps, kSignalNotes}; }

}  // namespace dfsim::inline graphs
