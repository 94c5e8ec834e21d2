// Linear algebra, diagonals, Fourier transforms, crops and patches of images, suppression over
// classes: operators that ONNX lacks or has in another form. Their shapes are worked out here.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

void emit_with_shape(NodeContext& node, std::string_view target, std::vector<TensorId> inputs,
                     std::vector<int64_t> shape, DType dtype = DType::kUnknown,
                     AttrList more = {}) {
  node.set_known(target, std::move(inputs), {{std::move(shape), dtype}}, std::move(more));
}

void keep_shape(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, node.all_plain(), {}, kTensorFlow));
}

// image [N, H, W, C], boxes [B, 4], box_ind [B], crop_size [2].
void crop_and_resize(NodeContext& node, std::string_view target) {
  const auto size = node.ints(3);
  if (!size || size->size() != 2 || node.rank(0) != 4 || node.rank(1) != 2) {
    node.unresolved("its crop_size is not known before the run");
    return;
  }
  const Shape image = node.shape(0);
  emit_with_shape(node, target, {node.plain(0), node.plain(1), node.plain(2)},
                  {node.shape(1)[0].extent(), (*size)[0], (*size)[1], image[3].extent()},
                  DType::kFloat32, {{"mode", node.attr_string("method", "bilinear")}});
}

// boxes [N, A, q, 4], scores [N, A, K], then per class, in all, overlap, score.
void combined_suppression(NodeContext& node, std::string_view target) {
  const auto per_class = node.integer(2);
  const auto total = node.integer(3);
  if (!per_class || !total || node.rank(1) != 3 || *per_class < 0 || *total < 0) {
    node.unresolved("the most boxes it returns are not known before the run");
    return;
  }
  const Count by_class = Count(*per_class) * Count(node.shape(1)[2].extent());
  const bool padded_per_class = node.attr_bool("pad_per_class", false);
  const int64_t most =
      padded_per_class && !by_class.overflowed() ? std::min(*total, by_class.value()) : *total;
  const auto results =
      node.emit_many(target, {node.plain(0), node.plain(1)},
                     {{"most", most}, {"most_per_class", *per_class}}, 4, kTensorFlow);
  for (size_t i = 0; i < results.size(); ++i) {
    node.set(i, results[i]);
  }
}

bool is_double(DType dtype) { return dtype == DType::kFloat64 || dtype == DType::kComplex128; }

// FFT, FFT2D...: complex to complex of the same shape.
void fourier(NodeContext& node, std::string_view target) {
  const auto axes = static_cast<int64_t>(node.type().ends_with("3D")   ? 3
                                         : node.type().ends_with("2D") ? 2
                                                                       : 1);
  const Shape x = node.shape(0);
  if (x.rank() < axes) {
    node.error(fmt::format("input {}: expected rank {} or more", format_shape(x), axes));
    return;
  }
  std::vector<int64_t> shape = x.extents();
  AttrList attributes = {{"axes", axes}};
  DType dtype = DType::kUnknown;
  const bool to_complex = node.type().starts_with("RFFT");
  const bool to_real = node.type().starts_with("IRFFT");
  if (to_complex || to_real) {
    const auto lengths = node.ints(1);
    if (!lengths || static_cast<int64_t>(lengths->size()) != axes) {
      node.unresolved("its fft_length is not known before the run");
      return;
    }
    std::copy(lengths->begin(), lengths->end(), shape.end() - static_cast<std::ptrdiff_t>(axes));
    if (to_complex) {
      shape.back() = shape.back() / 2 + 1;
    }
    const bool wide = is_double(node.dtype(0));
    attributes.emplace_back("real", int64_t{1});
    dtype = to_real ? (wide ? DType::kFloat64 : DType::kFloat32)
                    : (wide ? DType::kComplex128 : DType::kComplex64);
  }
  emit_with_shape(node, target, {node.plain(0)}, std::move(shape), dtype, std::move(attributes));
}

// The right side keeps its shape.
void solve(NodeContext& node, std::string_view target) {
  emit_with_shape(node, target, {node.plain(0), node.plain(1)}, node.shape(1).extents());
}

// Diagonals [low, high] of a matrix: one for a scalar k.
struct DiagonalBand {
  int64_t low = 0;
  int64_t high = 0;
};

std::optional<DiagonalBand> band_of(const NodeContext& node) {
  if (!node.has_input(1)) {
    return DiagonalBand{};
  }
  const auto k = node.ints(1);
  if (!k || k->empty() || k->size() > 2) {
    return std::nullopt;
  }
  return DiagonalBand{k->front(), k->back()};
}

// diagonal, k, num_rows, num_cols: [..., n] becomes [..., rows, columns].
void matrix_diag(NodeContext& node, std::string_view target) {
  const auto band = band_of(node);
  std::vector<int64_t> shape = node.shape(0).extents();
  if (!band || shape.empty() || band->low > band->high) {
    node.unresolved("which diagonals it writes is not known before the run");
    return;
  }
  const int64_t longest = shape.back();
  if (band->low != band->high) {
    shape.pop_back();  // the axis that counts diagonals
  }
  if (shape.empty()) {
    node.error("its diagonals have no axis of elements");
    return;
  }
  shape.pop_back();
  const auto given = [&](size_t i) { return node.integer(i).value_or(-1); };
  const int64_t least_rows = longest - std::min<int64_t>(band->high, 0);
  const int64_t least_columns = longest + std::max<int64_t>(band->low, 0);
  int64_t rows = given(2);
  int64_t columns = given(3);
  if (rows < 0 && columns < 0) {  // as small a square as holds them
    rows = columns = std::max(least_rows, least_columns);
  }
  shape.push_back(rows < 0 ? least_rows : rows);
  shape.push_back(columns < 0 ? least_columns : columns);
  emit_with_shape(node, target, {node.plain(0)}, std::move(shape));
}

// input, k: [..., rows, columns] becomes [..., n], or [..., diagonals, longest].
void matrix_diag_part(NodeContext& node, std::string_view target) {
  const auto band = band_of(node);
  std::vector<int64_t> shape = node.shape(0).extents();
  if (!band || shape.size() < 2 || band->low > band->high) {
    node.unresolved("which diagonals it reads is not known before the run");
    return;
  }
  const int64_t columns = shape.back();
  shape.pop_back();
  const int64_t rows = shape.back();
  shape.pop_back();
  const int64_t longest = std::max<int64_t>(0, std::min(rows + std::min<int64_t>(band->high, 0),
                                                        columns - std::max<int64_t>(band->low, 0)));
  if (band->low != band->high) {
    shape.push_back(band->high - band->low + 1);
  }
  shape.push_back(longest);
  emit_with_shape(node, target, {node.plain(0)}, std::move(shape));
}

// The patch around each step of a window, its elements behind each other in the channels.
void extract_patches(NodeContext& node, std::string_view target) {
  const auto sizes = node.attr_ints("ksizes");
  const auto strides = node.attr_ints("strides");
  const auto rates = node.attr_ints("rates");
  const Shape x = node.shape(0);
  if (x.rank() != 4 || sizes.size() != 4 || strides.size() != 4 || rates.size() != 4) {
    node.error(fmt::format("input {}: expected rank 4, and ksizes, strides and rates of 4 entries",
                           format_shape(x)));
    return;
  }
  const bool same = node.attr_string("padding", "VALID") == "SAME";
  std::vector<int64_t> shape = x.extents();
  Count channels(x[3].extent());
  for (size_t axis = 1; axis <= 2; ++axis) {
    constexpr int64_t kMost = int64_t{1} << 20;
    if (sizes[axis] < 1 || strides[axis] < 1 || rates[axis] < 1 || sizes[axis] > kMost ||
        rates[axis] > kMost) {
      node.error("its ksizes, strides and rates must be 1 or more");
      return;
    }
    const int64_t reach = (sizes[axis] - 1) * rates[axis] + 1;
    shape[axis] = same ? (shape[axis] - 1) / strides[axis] + 1
                       : std::max<int64_t>(0, (shape[axis] - reach) / strides[axis] + 1);
    channels *= Count(sizes[axis]);
  }
  shape[3] = channels.overflowed() ? -1 : channels.value();
  emit_with_shape(node, target, {node.plain(0)}, std::move(shape));
}

void string_length(NodeContext& node, std::string_view target) {
  emit_with_shape(node, target, {node.plain(0)}, node.shape(0).extents(), DType::kInt32);
}

// clang-format off
constexpr TfRule kNumericRules[] = {
    {.type = "CropAndResize", .translate = crop_and_resize, .target = "CropAndResize",
     .required_inputs = 4},
    {.type = "CombinedNonMaxSuppression", .translate = combined_suppression,
     .target = "CombinedNonMaxSuppression", .required_inputs = 6},
    {.type = "FFT", .translate = fourier, .target = "FourierTransform"},
    {.type = "FFT2D", .translate = fourier, .target = "FourierTransform"},
    {.type = "FFT3D", .translate = fourier, .target = "FourierTransform"},
    {.type = "IFFT", .translate = fourier, .target = "FourierTransform"},
    {.type = "IFFT2D", .translate = fourier, .target = "FourierTransform"},
    {.type = "IFFT3D", .translate = fourier, .target = "FourierTransform"},
    {.type = "RFFT", .translate = fourier, .target = "FourierTransform", .required_inputs = 2},
    {.type = "RFFT2D", .translate = fourier, .target = "FourierTransform", .required_inputs = 2},
    {.type = "RFFT3D", .translate = fourier, .target = "FourierTransform", .required_inputs = 2},
    {.type = "IRFFT", .translate = fourier, .target = "FourierTransform", .required_inputs = 2},
    {.type = "IRFFT2D", .translate = fourier, .target = "FourierTransform", .required_inputs = 2},
    {.type = "IRFFT3D", .translate = fourier, .target = "FourierTransform", .required_inputs = 2},
    {.type = "Cholesky", .translate = keep_shape, .target = "Cholesky"},
    {.type = "MatrixInverse", .translate = keep_shape, .target = "MatrixInverse"},
    {.type = "MatrixSolve", .translate = solve, .target = "MatrixSolve", .required_inputs = 2},
    {.type = "MatrixTriangularSolve", .translate = solve, .target = "MatrixTriangularSolve",
     .required_inputs = 2},
    {.type = "MatrixDiag", .translate = matrix_diag, .target = "MatrixDiag"},
    {.type = "MatrixDiagV2", .translate = matrix_diag, .target = "MatrixDiag"},
    {.type = "MatrixDiagV3", .translate = matrix_diag, .target = "MatrixDiag"},
    {.type = "MatrixDiagPart", .translate = matrix_diag_part, .target = "MatrixDiagPart"},
    {.type = "MatrixDiagPartV2", .translate = matrix_diag_part, .target = "MatrixDiagPart"},
    {.type = "MatrixDiagPartV3", .translate = matrix_diag_part, .target = "MatrixDiagPart"},
    {.type = "MatrixSetDiag", .translate = keep_shape, .target = "MatrixSetDiag",
     .required_inputs = 2},
    {.type = "MatrixSetDiagV2", .translate = keep_shape, .target = "MatrixSetDiag",
     .required_inputs = 2},
    {.type = "MatrixSetDiagV3", .translate = keep_shape, .target = "MatrixSetDiag",
     .required_inputs = 2},
    {.type = "ExtractImagePatches", .translate = extract_patches,
     .target = "ExtractImagePatches"},
    {.type = "StringLength", .translate = string_length, .target = "StringLength"},
};
// clang-format on

}  // namespace

std::span<const TfRule> numeric_tf_rules() { return kNumericRules; }

}  // namespace dfsim::inline graphs
