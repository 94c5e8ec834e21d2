// The table of precisions, rules, and what precision a model has.
#include "graphs/passes/precision/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/name_pattern.h"
#include "base/text.h"
#include "graphs/passes/origins.h"

namespace dfsim::inline graphs {
namespace {

constexpr PrecisionInfo kPrecisions[] = {
#define DFSIM_PRECISION(name, value, dtype, description) \
  {name, Precision::value, dtype, description},
#include "graphs/passes/precision/precisions.inc"
#undef DFSIM_PRECISION
};

const PrecisionInfo* precision_info(Precision precision) {
  const auto* const found =
      std::find_if(std::begin(kPrecisions), std::end(kPrecisions),
                   [&](const PrecisionInfo& info) { return info.value == precision; });
  return found == std::end(kPrecisions) ? nullptr : found;
}

bool matches(const PrecisionRule& rule, const Op& op, const std::vector<OpOrigin>& origins) {
  if (!rule.op_class.empty() && rule.op_class != op_class_name(op.op_class)) {
    return false;
  }
  const auto any_origin = [&](const auto& fits) {
    return std::any_of(origins.begin(), origins.end(), fits);
  };
  if (!rule.op_type.empty() && rule.op_type != op.op_type &&
      !any_origin([&](const OpOrigin& origin) { return origin.op_type == rule.op_type; })) {
    return false;
  }
  return rule.name.empty() || matches_pattern(op.name, rule.name) ||
         any_origin(
             [&](const OpOrigin& origin) { return matches_pattern(origin.name, rule.name); });
}

bool is_quantized_op(const Op& op) {
  const std::string_view type = op.op_type;
  return op.op_class == OpClass::kQuantize || type.starts_with("QLinear") ||
         type.ends_with("Integer") || type.ends_with("IntegerToFloat") || type == "QGemm" ||
         type == "QAttention" || type.starts_with("DynamicQuantize") || type == "MatMulNBits" ||
         type == "MatMulBnb4" || type == "QMoE" || type == "GatherBlockQuantized" ||
         type == "QEmbedLayerNormalization";
}

}  // namespace

std::span<const PrecisionInfo> all_precisions() { return kPrecisions; }

std::string_view precision_name(Precision precision) {
  const PrecisionInfo* info = precision_info(precision);
  return info == nullptr ? "as-is" : info->name;
}

DType precision_dtype(Precision precision) {
  const PrecisionInfo* info = precision_info(precision);
  return info == nullptr ? DType::kUnknown : info->dtype;
}

StatusOr<Precision> precision_of(std::string_view name) {
  std::vector<std::string> valid;
  for (const PrecisionInfo& info : kPrecisions) {
    if (info.name == name) {
      return info.value;
    }
    valid.emplace_back(info.name);
  }
  return invalid_input(unknown_name_message("precision", std::string(name), std::move(valid)));
}

std::string precision_names() {
  std::vector<std::string> names;
  for (const PrecisionInfo& info : kPrecisions) {
    names.emplace_back(info.name);
  }
  return join(names, ", ");
}

bool quantises_products(Precision precision) {
  return precision == Precision::kInt8Dynamic || precision == Precision::kInt8Weights ||
         precision == Precision::kInt4Weights || precision == Precision::kFp8;
}

bool PrecisionPlan::uses(Precision precision) const {
  return base == precision ||
         std::any_of(rules.begin(), rules.end(),
                     [&](const PrecisionRule& rule) { return rule.precision == precision; });
}

Precision precision_at(const PrecisionPlan& plan, const Op& op) {
  if (plan.rules.empty()) {
    return plan.base;
  }
  const std::vector<OpOrigin> origins = origins_of(op);
  const auto last =
      std::find_if(plan.rules.rbegin(), plan.rules.rend(),
                   [&](const PrecisionRule& rule) { return matches(rule, op, origins); });
  if (last == plan.rules.rend()) {
    return plan.base;
  }
  return last->precision == Precision::kAsIs && !last->implied ? plan.base : last->precision;
}

ModelPrecision find_model_precision(const Graph& graph) {
  ModelPrecision found;
  for (const Op& op : graph.ops()) {
    found.quantized = found.quantized || is_quantized_op(op);
  }
  std::map<DType, double> weights;
  std::map<DType, double> others;
  for (const Tensor& tensor : graph.tensors()) {
    if (is_floating(tensor.dtype) && tensor.shape.is_static()) {
      const Count elements = tensor.shape.elements();
      (tensor.role == TensorRole::kWeight ? weights : others)[tensor.dtype] +=
          elements.overflowed() ? 0 : static_cast<double>(elements.value());
    }
  }
  const auto& by_dtype = weights.empty() ? others : weights;
  double total = 0;
  double most = 0;
  for (const auto& [dtype, elements] : by_dtype) {
    total += elements;
    if (elements > most) {
      most = elements;
      found.dtype = dtype;
    }
  }
  found.share = total > 0 ? most / total : 1;
  return found;
}

}  // namespace dfsim::inline graphs
