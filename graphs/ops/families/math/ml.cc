// The ai.onnx.ml domain: classical models. Opaque to cost models, with the work that follows from
// attributes: products of linear models, kernels of support vectors, levels of trees.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graphs/ops/op_families.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml";

size_t list_size(const Attributes& attributes, std::string_view name) {
  const AttrValue* value = attributes.find(name);
  if (value == nullptr) {
    return 0;
  }
  if (const auto* ints = std::get_if<std::vector<int64_t>>(value)) {
    return ints->size();
  }
  if (const auto* floats = std::get_if<std::vector<double>>(value)) {
    return floats->size();
  }
  const auto* strings = std::get_if<std::vector<std::string>>(value);
  return strings != nullptr ? strings->size() : 0;
}

// Rows of a batch: 1 for a vector.
Dim rows_of(const Shape& x) { return x.rank() >= 2 ? x[0] : Dim(1); }

Status infer_float_same(InferContext& context) {
  context.set_output(0, DType::kFloat32, context.shape(0));
  return ok_status();
}

// Strings become integers or the other way round, by which default or key list is there.
Status infer_encoder(InferContext& context) {
  const Attributes& attributes = context.attributes();
  DType dtype = context.dtype(0) == DType::kString ? DType::kInt64 : DType::kString;
  if (attributes.has("values_strings")) {
    dtype = DType::kString;
  } else if (attributes.has("values_int64s")) {
    dtype = DType::kInt64;
  } else if (attributes.has("values_floats")) {
    dtype = DType::kFloat32;
  }
  context.set_output(0, dtype, context.shape(0));
  return ok_status();
}

// Labels [N] and scores [N, classes].
Status infer_classifier(InferContext& context) {
  const Shape& x = context.shape(0);
  const Attributes& attributes = context.attributes();
  size_t classes = 0;
  bool strings = false;
  for (const std::string_view name : {"classlabels_int64s", "classlabels_ints"}) {
    classes = std::max(classes, list_size(attributes, name));
  }
  for (const std::string_view name : {"classlabels_strings", "classlabels_str"}) {
    strings = strings || list_size(attributes, name) > 0;
    classes = std::max(classes, list_size(attributes, name));
  }
  if (!x.has_rank() || classes == 0) {
    return ok_status();
  }
  context.set_output(0, strings ? DType::kString : DType::kInt64, Shape({rows_of(x)}));
  context.set_output(1, DType::kFloat32, Shape({rows_of(x), Dim(static_cast<int64_t>(classes))}));
  return ok_status();
}

Status infer_regressor(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  const int64_t targets =
      context.attributes().int_or("n_targets", context.attributes().int_or("targets", 1));
  if (targets < 1 || targets > kMaxExtent) {
    return context.error(fmt::format("has {} targets; expected 1 or more", targets));
  }
  context.set_output(0, DType::kFloat32, Shape({rows_of(x), Dim(targets)}));
  return ok_status();
}

Status infer_one_hot_encoder(InferContext& context) {
  const Shape& x = context.shape(0);
  const size_t categories = std::max(list_size(context.attributes(), "cats_int64s"),
                                     list_size(context.attributes(), "cats_strings"));
  if (!x.has_rank()) {
    return ok_status();
  }
  Dims dims = x.dims();
  dims.emplace_back(static_cast<int64_t>(categories));
  context.set_output(0, DType::kFloat32, Shape(std::move(dims)));
  return ok_status();
}

Status infer_feature_vectorizer(InferContext& context) {
  Count columns;
  const auto* sizes = context.attributes().get_ints("inputdimensions");
  for (size_t i = 0; sizes != nullptr && i < sizes->size(); ++i) {
    columns += Count(std::max<int64_t>(0, (*sizes)[i]));
  }
  if (context.shape(0).has_rank() && sizes != nullptr) {
    context.set_output(0, DType::kFloat32,
                       Shape({rows_of(context.shape(0)), Dim(columns.value())}));
  }
  return ok_status();
}

Status infer_feature_extractor(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& columns = context.shape(1);
  if (!x.has_rank() || x.rank() == 0 || !columns.is_static()) {
    return ok_status();
  }
  Dims dims = x.rank() == 1 ? Dims{Dim(1), x[0]} : x.dims();
  dims.back() = Dim(columns.elements().value());
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// Maps are not tensors: their shape stays unknown, and the op is listed.
Status infer_map(InferContext&) { return ok_status(); }

// A list of maps from constant keys to the numbers of a row: counted as those numbers.
Status infer_zip_map(InferContext& context) {
  context.set_output(0, context.dtype(0), context.shape(0));
  return ok_status();
}

// The chosen columns of each row.
void fold_feature_extractor(InferContext& context) {
  const ConstValue* x = context.value(0);
  const auto columns = context.ints(1);
  const auto out = small_extents(context, 0);
  if (x == nullptr || !columns || !out || x->extents.empty()) {
    return;
  }
  const int64_t width = x->extents.back();
  std::vector<int64_t> sources;
  for (int64_t row = 0; width > 0 && row < static_cast<int64_t>(x->size()) / width; ++row) {
    for (const int64_t column : *columns) {
      if (column < 0 || column >= width) {
        return;
      }
      sources.push_back(row * width + column);
    }
  }
  if (static_cast<int64_t>(sources.size()) == small_product(*out)) {
    fold_by_index(context, 0, *out, sources);
  }
}

// 1 above the threshold, else 0.
void fold_binarizer(InferContext& context) {
  const ConstValue* x = context.value(0);
  if (x == nullptr || !has_arithmetic(x->dtype)) {
    return;
  }
  const double threshold = context.attributes().get_float("threshold").value_or(0);
  ConstValue out = empty_value(x->dtype, x->extents);
  for (size_t i = 0; i < x->size(); ++i) {
    append_double(&out, x->as_double(i) > threshold ? 1 : 0);
  }
  context.set_value(0, std::move(out));
}

// Every row meets every coefficient.
void work_linear(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  const size_t coefficients = list_size(context.op().attributes, "coefficients");
  const Count rows(x.rank() >= 2 ? x[0].extent() : 1);
  context.add_macs(rows * Count(static_cast<int64_t>(coefficients)));
}

// Every row meets every support vector.
void work_support_vectors(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  const size_t numbers = list_size(context.op().attributes, "support_vectors");
  const size_t coefficients = list_size(context.op().attributes, "coefficients");
  const Count rows(x.rank() >= 2 ? x[0].extent() : 1);
  context.add_macs(rows * Count(static_cast<int64_t>(numbers + coefficients)));
}

// A row walks each tree from root to leaf: log2 of its nodes comparisons.
void work_trees(WorkContext& context) {
  const Attributes& attributes = context.op().attributes;
  const Shape& x = context.input(0).shape;
  const auto* ids = attributes.get_ints("nodes_treeids");
  const size_t nodes =
      std::max(ids != nullptr ? ids->size() : 0, list_size(attributes, "nodes_featureids"));
  int64_t trees = static_cast<int64_t>(list_size(attributes, "tree_roots"));
  if (ids != nullptr && !ids->empty()) {
    trees = 1;
    for (size_t i = 1; i < ids->size(); ++i) {
      trees += (*ids)[i] != (*ids)[i - 1] ? 1 : 0;
    }
  }
  const double depth =
      trees > 0 ? std::log2(static_cast<double>(nodes) / static_cast<double>(trees) + 1) : 0;
  context.add_flops(Count(x.rank() >= 2 ? x[0].extent() : 1) * Count(trees), depth + 1);
}

// clang-format off
constexpr OpDef kMlOps[] = {
    {.op_type = "ArrayFeatureExtractor", .infer = infer_feature_extractor, .work = work_copy,
     .fold = fold_feature_extractor, .required_inputs = 2, .domain = kMl},
    {.op_type = "Binarizer", .infer = infer_same_as_first, .work = work_per_element,
     .fold = fold_binarizer, .flops_per_element = 1, .domain = kMl},
    {.op_type = "CastMap", .infer = infer_map, .domain = kMl},
    {.op_type = "CategoryMapper", .infer = infer_encoder, .work = work_per_element,
     .flops_per_element = 1, .domain = kMl},
    {.op_type = "DictVectorizer", .infer = infer_map, .domain = kMl},
    {.op_type = "FeatureVectorizer", .infer = infer_feature_vectorizer, .domain = kMl},
    {.op_type = "Imputer", .infer = infer_same_as_first, .work = work_per_element,
     .flops_per_element = 1, .domain = kMl},
    {.op_type = "LabelEncoder", .infer = infer_encoder, .work = work_per_element,
     .flops_per_element = 1, .domain = kMl},
    {.op_type = "LinearClassifier", .infer = infer_classifier, .work = work_linear, .domain = kMl},
    {.op_type = "LinearRegressor", .infer = infer_regressor, .work = work_linear, .domain = kMl},
    {.op_type = "Normalizer", .infer = infer_float_same, .work = work_per_element,
     .flops_per_element = 3, .domain = kMl},
    {.op_type = "OneHotEncoder", .infer = infer_one_hot_encoder, .domain = kMl},
    {.op_type = "SVMClassifier", .infer = infer_classifier, .work = work_support_vectors,
     .domain = kMl},
    {.op_type = "SVMRegressor", .infer = infer_regressor, .work = work_support_vectors,
     .domain = kMl},
    {.op_type = "Scaler", .infer = infer_float_same, .work = work_per_element,
     .flops_per_element = 2, .domain = kMl},
    {.op_type = "TreeEnsemble", .infer = infer_regressor, .work = work_trees, .domain = kMl},
    {.op_type = "TreeEnsembleClassifier", .infer = infer_classifier, .work = work_trees,
     .domain = kMl},
    {.op_type = "TreeEnsembleRegressor", .infer = infer_regressor, .work = work_trees,
     .domain = kMl},
    {.op_type = "ZipMap", .infer = infer_zip_map, .domain = kMl},
};
// clang-format on

constexpr WorkNote kMlNotes[] = {
    {work_linear, "MACs = rows x coefficients"},
    {work_support_vectors, "MACs = rows x (numbers in support vectors + coefficients)"},
    {work_trees, "per row and tree 1 + log2 of its nodes"},
};

}  // namespace

OpFamily ml_op_defs() { return {kMlOps, kMlNotes}; }

}  // namespace dfsim::inline graphs
