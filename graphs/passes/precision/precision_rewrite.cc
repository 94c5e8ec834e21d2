// Whole-model casts, autocast and rules per operator, all through insert_casts().
//
// Each of them is a function from an operator to the element types that it computes in. A
// quantised precision of a rule (fp8, int8-dynamic, weights) computes on 16 or 32 bits here and is
// finished by the rewriting of products behind the casts.
#include <algorithm>
#include <memory>
#include <string_view>

#include "graphs/ops/arithmetic.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/passes/precision/casts.h"
#include "graphs/passes/precision/precision.h"
#include "graphs/passes/precision/quantized_products.h"

namespace dfsim::inline graphs {
namespace {

enum class Autocast : uint8_t { kFollow, kLower, kWide, kWideOut };

struct AutocastEntry {
  std::string_view op_type;
  Autocast gpu;
  Autocast cpu;
};

constexpr AutocastEntry kAutocast[] = {
#define DFSIM_AUTOCAST(op_type, gpu, cpu) {op_type, Autocast::gpu, Autocast::cpu},
#include "graphs/passes/precision/autocast_ops.inc"
#undef DFSIM_AUTOCAST
};

Autocast autocast_of(const Op& op, bool cpu) {
  const auto* const found =
      std::find_if(std::begin(kAutocast), std::end(kAutocast),
                   [&](const AutocastEntry& entry) { return entry.op_type == op.op_type; });
  if (found == std::end(kAutocast)) {
    return Autocast::kFollow;
  }
  return cpu ? found->cpu : found->gpu;
}

ChosenDtypes autocast_dtypes(const Op& op, DType lower, bool cpu) {
  switch (autocast_of(op, cpu)) {
    case Autocast::kFollow:
      break;
    case Autocast::kLower:
      return {lower, lower};
    case Autocast::kWide:
      return {DType::kFloat32, DType::kFloat32};
    case Autocast::kWideOut:
      return {DType::kUnknown, DType::kFloat32};
  }
  return {};
}

// onnxconverter-common's DEFAULT_OP_BLOCK_LIST: operators that its fp16 models leave in fp32.
constexpr std::string_view kConverterKeeps[] = {"ArrayFeatureExtractor",
                                                "Binarizer",
                                                "CastMap",
                                                "CategoryMapper",
                                                "CumSum",
                                                "DictVectorizer",
                                                "FeatureVectorizer",
                                                "Imputer",
                                                "LabelEncoder",
                                                "LinearClassifier",
                                                "LinearRegressor",
                                                "Max",
                                                "Min",
                                                "NonMaxSuppression",
                                                "Normalizer",
                                                "OneHotEncoder",
                                                "RandomUniformLike",
                                                "Range",
                                                "Resize",
                                                "RoiAlign",
                                                "SVMClassifier",
                                                "SVMRegressor",
                                                "Scaler",
                                                "TopK",
                                                "TreeEnsembleClassifier",
                                                "TreeEnsembleRegressor",
                                                "Upsample",
                                                "ZipMap"};

bool converter_keeps(const Op& op) {
  return std::find(std::begin(kConverterKeeps), std::end(kConverterKeeps), op.op_type) !=
         std::end(kConverterKeeps);
}

bool makes_fp32(const Op& op) {
  return op.op_type == "Cast" && op.domain.empty() &&
         op.attributes.int_or("to", 0) == dtype_to_onnx(DType::kFloat32);
}

Status cast_bodies(EditableGraph& graph, OpId id, DType dtype);

// Every fp32 tensor and constant, and casts to fp32, become `dtype`.
Status retype(EditableGraph& graph, DType dtype) {
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    if (graph.tensor(TensorId(t)).dtype == DType::kFloat32) {
      graph.set_dtype(TensorId(t), dtype);
    }
  }
  for (const OpId id : graph.ops()) {
    if (makes_fp32(graph.op(id))) {
      graph.attributes(id).set("to", int64_t{dtype_to_onnx(dtype)});
    }
    DFSIM_RETURN_IF_ERROR(cast_bodies(graph, id, dtype));
  }
  return ok_status();
}

Status cast_bodies(EditableGraph& graph, OpId id, DType dtype) {
  const std::vector<std::pair<std::string, AttrValue>> entries =
      graph.op(id).op_class == OpClass::kControlFlow
          ? graph.op(id).attributes.entries()
          : std::vector<std::pair<std::string, AttrValue>>();
  for (const auto& [name, value] : entries) {
    if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&value)) {
      EditableGraph edited(**body);
      DFSIM_RETURN_IF_ERROR(retype(edited, dtype));
      DFSIM_ASSIGN_OR_RETURN(Graph cast, edited.finish());
      graph.attributes(id).set(name, std::make_shared<const Graph>(std::move(cast)));
    }
  }
  return ok_status();
}

// The element type of the arithmetic around a precision; kUnknown = autocast decides.
DType surrounding_dtype(Precision precision, DType model) {
  switch (precision) {
    case Precision::kFp16:
      return DType::kFloat16;
    case Precision::kBf16:
      return DType::kBFloat16;
    case Precision::kFp8:
      return model == DType::kFloat16 ? model : DType::kBFloat16;
    case Precision::kMixedFp16:
    case Precision::kMixedBf16:
      return DType::kUnknown;
    case Precision::kFp32:
    case Precision::kTf32:
      return DType::kFloat32;
    default:
      return model;
  }
}

}  // namespace

StatusOr<Graph> cast_model(const Graph& graph, DType dtype, const PrecisionTarget& target) {
  EditableGraph edited(graph);
  DFSIM_RETURN_IF_ERROR(retype(edited, dtype));
  if (target.onnx_runtime) {
    insert_casts(
        edited,
        [dtype](const EditableGraph& view, OpId id) {
          const Op& op = view.op(id);
          const DType own = converter_keeps(op) ? DType::kFloat32 : dtype;
          return op.op_type == "Cast" ? ChosenDtypes{} : ChosenDtypes{own, own};
        },
        WeightCasts::kAhead);
  }
  return edited.finish();
}

StatusOr<Graph> refine_precision(const Graph& graph, const PrecisionPlan& plan,
                                 const PrecisionTarget& target) {
  EditableGraph edited(graph);
  const DType model = find_model_precision(graph).dtype;
  const bool by_rule =
      std::ranges::any_of(plan.rules, [](const PrecisionRule& rule) { return !rule.implied; });
  const auto choose = [&](const EditableGraph& view, OpId id) -> ChosenDtypes {
    const Op& op = view.op(id);
    const Precision precision = precision_at(plan, op);
    if (precision == Precision::kMixedFp16 || precision == Precision::kMixedBf16) {
      return autocast_dtypes(op, precision_dtype(precision), target.cpu);
    }
    // A cast of the model's own keeps what it makes; views show what is there.
    if (op.op_type == "Cast" || op.op_class == OpClass::kView || !by_rule) {
      return {};
    }
    const DType own = surrounding_dtype(precision, model);
    return {own, own};
  };
  const bool mixed = plan.uses(Precision::kMixedFp16) || plan.uses(Precision::kMixedBf16);
  if (mixed || by_rule) {
    insert_casts(edited, choose, mixed ? WeightCasts::kPerRun : WeightCasts::kAhead);
  }
  quantize_products(edited, plan);
  return edited.finish();
}

StatusOr<Graph> mark_tf32(const Graph& graph, const PrecisionPlan& plan) {
  EditableGraph edited(graph);
  for (const OpId id : edited.ops()) {
    const Op& op = edited.op(id);
    const bool product = op.op_class == OpClass::kMatMul || op.op_class == OpClass::kConv ||
                         op.op_class == OpClass::kAttention || op.op_class == OpClass::kRnn;
    if (product && precision_at(plan, op) == Precision::kTf32) {
      edited.attributes(id).set(std::string(kArithmeticAttribute), std::string("tf32"));
    }
  }
  return edited.finish();
}

}  // namespace dfsim::inline graphs
