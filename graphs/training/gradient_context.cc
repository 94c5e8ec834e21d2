// Finds gradient rules by domain and operator, and gives them shorthands for the operators that
// backward passes consist of. sum_to() undoes broadcasting: it sums over the axes along which an
// operand was repeated.
#include "graphs/training/gradient_context.h"

#include <algorithm>
#include <map>

#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kVersion = 13;  // of the operators that are added

bool is_ours(std::string_view domain) { return !domain.empty(); }

using RuleKey = std::pair<std::string_view, std::string_view>;

const std::map<RuleKey, GradientRule>& rules() {
  static const std::map<RuleKey, GradientRule> kRules = [] {
    std::map<RuleKey, GradientRule> all;
    for (const auto& family : {product_gradients(), elementwise_gradients(), norm_gradients(),
                               window_gradients(), layout_gradients()}) {
      for (const GradientEntry& entry : family) {
        all[{entry.domain, entry.op_type}] = entry.rule;
      }
    }
    return all;
  }();
  return kRules;
}

}  // namespace

GradientRule find_gradient_rule(std::string_view domain, std::string_view op_type) {
  const std::string_view key = domain == "ai.onnx" ? std::string_view() : domain;
  if (const auto found = rules().find({key, op_type}); found != rules().end()) {
    return found->second;
  }
  const OpDef* def = find_op_def(key, op_type);
  return def != nullptr && def->op_class == OpClass::kElementwise ? gradient_of_elementwise
                                                                  : gradient_by_backward;
}

bool is_general(GradientRule rule) { return rule == gradient_by_backward; }

std::vector<TensorId> GradientContext::emit_many(std::string_view domain, std::string_view type,
                                                 std::vector<TensorId> inputs,
                                                 const std::vector<Shape>& shapes,
                                                 AttributeList attributes,
                                                 const std::vector<DType>& dtypes) {
  Op made;
  made.domain = domain;
  made.op_type = type;
  made.version = is_ours(domain) ? 1 : kVersion;
  const OpDef* def = find_op_def(domain, type);
  made.op_class = def != nullptr ? def->op_class : OpClass::kOpaque;
  made.inputs = std::move(inputs);
  for (auto& attribute : attributes) {
    made.attributes.set(attribute.first, std::move(attribute.second));
  }
  made.name = op_.name + "/gradient";
  return backward_.add(std::move(made), shapes, dtypes);
}

TensorId GradientContext::emit_as(DType dtype, std::string_view domain, std::string_view type,
                                  std::vector<TensorId> inputs, Shape shape,
                                  AttributeList attributes) {
  return emit_many(domain, type, std::move(inputs), {std::move(shape)}, std::move(attributes),
                   {dtype})[0];
}

TensorId GradientContext::emit(std::string_view domain, std::string_view type,
                               std::vector<TensorId> inputs, Shape shape,
                               AttributeList attributes) {
  return emit_many(domain, type, std::move(inputs), {std::move(shape)}, std::move(attributes))[0];
}

TensorId GradientContext::ints(const std::vector<int64_t>& values) {
  Tensor tensor;
  tensor.name = op_.name + "/extents";
  tensor.dtype = DType::kInt64;
  tensor.role = TensorRole::kConstant;
  const auto count = static_cast<int64_t>(values.size());
  tensor.shape = Shape({Dim(count)});
  const TensorId id = backward_.builder().add_tensor(std::move(tensor));
  backward_.builder().set_constant(id, {DType::kInt64, {count}, values, {}});
  return id;
}

TensorId GradientContext::number(double value) {
  const DType dtype = backward_.builder().tensor(gradients_[0]).dtype;
  Tensor tensor;
  tensor.name = op_.name + "/number";
  tensor.dtype = dtype;
  tensor.role = TensorRole::kConstant;
  tensor.shape = Shape::scalar();
  const TensorId id = backward_.builder().add_tensor(std::move(tensor));
  backward_.builder().set_constant(id, {dtype, {}, {}, {value}});
  return id;
}

TensorId GradientContext::reshape(TensorId x, const Shape& shape) {
  if (shape_of(x) == shape) {
    return x;
  }
  return emit("", "Reshape", {x, ints(shape.extents())}, shape);
}

TensorId GradientContext::transpose(TensorId x, const std::vector<int64_t>& perm, bool view) {
  Op made;
  made.op_type = "Transpose";
  made.version = kVersion;
  made.op_class = view ? OpClass::kView : OpClass::kDataMovement;
  made.inputs = {x};
  made.attributes.set("perm", perm);
  made.name = op_.name + "/gradient";
  Dims dims;
  for (const int64_t axis : perm) {
    dims.push_back(shape_of(x)[static_cast<int>(axis)]);
  }
  return backward_.add(std::move(made), {Shape(std::move(dims))}, {})[0];
}

TensorId GradientContext::sum_over(TensorId x, const std::vector<int64_t>& axes, bool keep) {
  if (axes.empty()) {
    return x;
  }
  Dims dims;
  const Shape from = shape_of(x);
  for (int axis = 0; axis < from.rank(); ++axis) {
    const bool summed = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!summed) {
      dims.push_back(from[axis]);
    } else if (keep) {
      dims.emplace_back(1);
    }
  }
  return emit("", "ReduceSum", {x, ints(axes)}, Shape(std::move(dims)),
              {{"keepdims", int64_t{keep ? 1 : 0}}});
}

TensorId GradientContext::sum_to(TensorId x, const Shape& shape) {
  const Shape from = shape_of(x);
  if (from == shape) {
    return x;
  }
  const int extra = from.rank() - shape.rank();
  std::vector<int64_t> axes;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (axis < extra || (shape[axis - extra] == Dim(1) && from[axis] != Dim(1))) {
      axes.push_back(axis);
    }
  }
  return reshape(sum_over(x, axes, false), shape);
}

}  // namespace dfsim::inline graphs
