// Parts of complex numbers, colours and warps of images, factorisations, random numbers of more
// distributions, strings. Special functions of one and more operands are in rules_elementwise.cc.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

bool is_wide(DType dtype) { return dtype == DType::kComplex128 || dtype == DType::kFloat64; }

// Real part, imaginary part, angle.
void complex_part(NodeContext& node, std::string_view target) {
  node.set_known(
      target, {node.plain(0)},
      {{node.shape(0).extents(), is_wide(node.dtype(0)) ? DType::kFloat64 : DType::kFloat32}});
}

// Two real tensors that broadcast.
void make_complex(NodeContext& node, std::string_view target) {
  std::string conflict;
  const Shape shape = broadcast_shapes(node.shape(0), node.shape(1), &conflict);
  if (!conflict.empty()) {
    node.error(conflict);
    return;
  }
  node.set_known(
      target, {node.plain(0), node.plain(1)},
      {{shape.extents(), is_wide(node.dtype(0)) ? DType::kComplex128 : DType::kComplex64}});
}

void like_first(NodeContext& node, std::string_view target) {
  node.set_known(target, {node.plain(0)}, {{node.shape(0).extents()}});
}

// images [N, H, W, C], transforms, the size of the result (and a value outside).
void warp(NodeContext& node, std::string_view target) {
  const auto size = node.ints(node.type() == "ScaleAndTranslate" ? 1 : 2);
  if (!size || size->size() != 2 || node.rank(0) != 4) {
    node.unresolved("the size of its result is not known before the run");
    return;
  }
  const Shape x = node.shape(0);
  node.set_known(target, {node.plain(0), node.plain(1)},
                 {{{x[0].extent(), (*size)[0], (*size)[1], x[3].extent()}}});
}

// The inverse of a permutation, which is a constant almost always.
void invert_permutation(NodeContext& node, std::string_view target) {
  const auto order = node.ints(0);
  if (!order) {
    like_first(node, target);
    return;
  }
  std::vector<int64_t> inverse(order->size(), -1);
  for (size_t i = 0; i < order->size(); ++i) {
    const int64_t to = (*order)[i];
    if (to < 0 || to >= static_cast<int64_t>(inverse.size()) ||
        inverse[static_cast<size_t>(to)] >= 0) {
      node.error("its input is not a permutation");
      return;
    }
    inverse[static_cast<size_t>(to)] = static_cast<int64_t>(i);
  }
  node.set(0, node.emitter().add_ints(inverse));
}

// logits [rows, classes], number of samples.
void multinomial(NodeContext& node, std::string_view target) {
  const auto samples = node.integer(1);
  if (!samples || *samples < 0 || node.rank(0) != 2) {
    node.unresolved("its number of samples is not known before the run");
    return;
  }
  node.set_known(target, {node.plain(0)},
                 {{{node.shape(0)[0].extent(), *samples}, node.attr_dtype("output_dtype")}});
}

void linspace(NodeContext& node, std::string_view target) {
  const auto count = node.integer(2);
  if (!count || *count < 0 || *count > kMaxExtent) {
    node.unresolved("its number of elements is not known before the run");
    return;
  }
  node.set_known(target, {node.plain(0), node.plain(1)}, {{{*count}}});
}

// The extents of a stack of matrices, apart.
struct Matrices {
  std::vector<int64_t> stack;
  int64_t rows = 0;
  int64_t columns = 0;

  std::vector<int64_t> with(std::initializer_list<int64_t> extents) const {
    std::vector<int64_t> shape = stack;
    shape.insert(shape.end(), extents);
    return shape;
  }
  int64_t least() const { return std::min(rows, columns); }
};

std::optional<Matrices> matrices(NodeContext& node) {
  std::vector<int64_t> shape = node.shape(0).extents();
  if (shape.size() < 2) {
    node.error(fmt::format("input {}: expected rank 2 or more", format_shape(node.shape(0))));
    return std::nullopt;
  }
  Matrices found;
  found.columns = shape.back();
  found.rows = shape[shape.size() - 2];
  shape.resize(shape.size() - 2);
  found.stack = std::move(shape);
  return found;
}

void determinant(NodeContext& node, std::string_view target) {
  if (const auto x = matrices(node)) {
    std::vector<KnownOutput> outputs{{x->stack}};
    if (node.type() == "LogMatrixDeterminant") {  // sign and logarithm
      outputs.push_back({x->stack, node.dtype(0)});
    }
    node.set_known(target, {node.plain(0)}, outputs);
  }
}

void orthogonal_triangular(NodeContext& node, std::string_view target) {
  if (const auto x = matrices(node)) {
    const int64_t inner = node.attr_bool("full_matrices", false) ? x->rows : x->least();
    node.set_known(target, {node.plain(0)},
                   {{x->with({x->rows, inner})}, {x->with({inner, x->columns}), node.dtype(0)}});
  }
}

// Singular values, then both sides.
void singular_values(NodeContext& node, std::string_view target) {
  if (const auto x = matrices(node)) {
    const bool sides = node.attr_bool("compute_uv", true);
    const bool full = node.attr_bool("full_matrices", false);
    const std::vector<int64_t> none{0};
    const int64_t left = full ? x->rows : x->least();
    const int64_t right = full ? x->columns : x->least();
    node.set_known(target, {node.plain(0)},
                   {{x->with({x->least()})},
                    {sides ? x->with({x->rows, left}) : none, node.dtype(0)},
                    {sides ? x->with({x->columns, right}) : none, node.dtype(0)}});
  }
}

// Eigenvalues, then vectors.
void eigenvalues(NodeContext& node, std::string_view target) {
  if (const auto x = matrices(node)) {
    const bool vectors = node.attr_bool("compute_v", true);
    const DType dtype = node.type() == "Eig" ? node.attr_dtype("Tout") : node.dtype(0);
    node.set_known(target, {node.plain(0)},
                   {{x->with({x->rows}), dtype},
                    {vectors ? x->with({x->rows, x->columns}) : std::vector<int64_t>{0}, dtype}});
  }
}

void lower_upper(NodeContext& node, std::string_view target) {
  if (const auto x = matrices(node)) {
    node.set_known(target, {node.plain(0)},
                   {{x->with({x->rows, x->columns})}, {x->with({x->rows}), DType::kInt32}});
  }
}

// Strings to strings of the same shape, or to what `out_type` or the type of the operator says.
void text(NodeContext& node, std::string_view target) {
  const DType out = node.type() == "StringToNumber"           ? node.attr_dtype("out_type")
                    : node.type().starts_with("StringToHash") ? DType::kInt64
                                                              : DType::kString;
  node.set_known(target, {node.plain(0)}, {{node.shape(0).extents(), out}});
}

// Strings put together element by element.
void text_join(NodeContext& node, std::string_view target) {
  Shape shape = node.shape(0);
  for (size_t i = 1; i < node.input_count(); ++i) {
    if (node.rank(i) > shape.rank()) {
      shape = node.shape(i);
    }
  }
  node.set_known(target, node.all_plain(), {{shape.extents(), DType::kString}});
}

// clang-format off
constexpr TfRule kSpecialRules[] = {
    {.type = "Real", .translate = complex_part, .target = "Real"},
    {.type = "Imag", .translate = complex_part, .target = "Imag"},
    {.type = "Angle", .translate = complex_part, .target = "Angle"},
    {.type = "Complex", .translate = make_complex, .target = "Complex", .required_inputs = 2},
    {.type = "AdjustContrastv2", .translate = like_first, .target = "AdjustContrastv2"},
    {.type = "AdjustHue", .translate = like_first, .target = "AdjustHue"},
    {.type = "AdjustSaturation", .translate = like_first, .target = "AdjustSaturation"},
    {.type = "RGBToHSV", .translate = like_first, .target = "RGBToHSV"},
    {.type = "HSVToRGB", .translate = like_first, .target = "HSVToRGB"},
    {.type = "ImageProjectiveTransformV2", .translate = warp, .target = "ImageProjectiveTransformV2",
     .required_inputs = 3},
    {.type = "ImageProjectiveTransformV3", .translate = warp, .target = "ImageProjectiveTransformV3",
     .required_inputs = 3},
    {.type = "ScaleAndTranslate", .translate = warp, .target = "ScaleAndTranslate", .required_inputs = 2},
    {.type = "InvertPermutation", .translate = invert_permutation, .target = "InvertPermutation"},
    {.type = "Multinomial", .translate = multinomial, .target = "Multinomial", .required_inputs = 2},
    {.type = "StatelessMultinomial", .translate = multinomial, .target = "StatelessMultinomial",
     .required_inputs = 2},
    {.type = "RandomShuffle", .translate = like_first, .target = "RandomShuffle"},
    {.type = "LinSpace", .translate = linspace, .target = "LinSpace", .required_inputs = 3},
    {.type = "MatrixDeterminant", .translate = determinant, .target = "MatrixDeterminant"},
    {.type = "LogMatrixDeterminant", .translate = determinant, .target = "LogMatrixDeterminant"},
    {.type = "Qr", .translate = orthogonal_triangular, .target = "Qr"},
    {.type = "Svd", .translate = singular_values, .target = "Svd"},
    {.type = "SelfAdjointEigV2", .translate = eigenvalues, .target = "SelfAdjointEigV2"},
    {.type = "Eig", .translate = eigenvalues, .target = "Eig"},
    {.type = "Lu", .translate = lower_upper, .target = "Lu"},
    {.type = "StringLower", .translate = text, .target = "StringLower"},
    {.type = "StringUpper", .translate = text, .target = "StringUpper"},
    {.type = "StringStrip", .translate = text, .target = "StringStrip"},
    {.type = "RegexReplace", .translate = text, .target = "RegexReplace"},
    {.type = "StaticRegexReplace", .translate = text, .target = "StaticRegexReplace"},
    {.type = "Substr", .translate = text, .target = "Substr"},
    {.type = "AsString", .translate = text, .target = "AsString"},
    {.type = "StringToNumber", .translate = text, .target = "StringToNumber"},
    {.type = "StringToHashBucketFast", .translate = text, .target = "StringToHashBucketFast"},
    {.type = "StringToHashBucketStrong", .translate = text, .target = "StringToHashBucketStrong"},
    {.type = "StringToHashBucket", .translate = text, .target = "StringToHashBucket"},
    {.type = "StringJoin", .translate = text_join, .target = "StringJoin"},
};
// clang-format on

}  // namespace

std::span<const TfRule> special_tf_rules() { return kSpecialRules; }

}  // namespace dfsim::inline graphs
