// The view of a node that a translation rule has: operands, attributes with defaults, and
// shorthands to emit operators. The first error of a node is kept and ends its translation.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {

std::optional<std::vector<int64_t>> NodeContext::ints(size_t i) const {
  const ConstValue* constant = value(i);
  if (constant == nullptr) {
    return std::nullopt;
  }
  std::vector<int64_t> list;
  for (size_t k = 0; k < constant->size(); ++k) {
    list.push_back(constant->as_int(k));
  }
  return list;
}

std::optional<int64_t> NodeContext::integer(size_t i) const {
  const ConstValue* constant = value(i);
  return constant != nullptr && constant->size() == 1 ? std::optional(constant->as_int(0))
                                                      : std::nullopt;
}

std::vector<TensorId> NodeContext::all_plain() {
  std::vector<TensorId> tensors;
  for (size_t i = 0; i < input_count(); ++i) {
    tensors.push_back(plain(i));
  }
  return tensors;
}

bool NodeContext::prefers_channels_first(size_t i) const {
  return has_input(i) && emitter_.value(input(i)).channels_first.valid() && rank(i) >= 3;
}

int64_t NodeContext::attr_int(const std::string& name, int64_t fallback) const {
  const tf::AttrValue* attribute = find_attribute(def_, name);
  return attribute != nullptr && attribute->has_i() ? attribute->i() : fallback;
}

double NodeContext::attr_float(const std::string& name, double fallback) const {
  const tf::AttrValue* attribute = find_attribute(def_, name);
  return attribute != nullptr && attribute->has_f() ? static_cast<double>(attribute->f())
                                                    : fallback;
}

bool NodeContext::attr_bool(const std::string& name, bool fallback) const {
  const tf::AttrValue* attribute = find_attribute(def_, name);
  return attribute != nullptr && attribute->has_b() ? attribute->b() : fallback;
}

std::string NodeContext::attr_string(const std::string& name, std::string_view fallback) const {
  const tf::AttrValue* attribute = find_attribute(def_, name);
  return attribute != nullptr && attribute->has_s() ? attribute->s() : std::string(fallback);
}

std::vector<int64_t> NodeContext::attr_ints(const std::string& name) const {
  const tf::AttrValue* attribute = find_attribute(def_, name);
  if (attribute == nullptr || !attribute->has_list()) {
    return {};
  }
  return {attribute->list().i().begin(), attribute->list().i().end()};
}

DType NodeContext::attr_dtype(const std::string& name) const {
  const tf::AttrValue* attribute = find_attribute(def_, name);
  return attribute != nullptr && attribute->has_type() ? dtype_from_tf(attribute->type())
                                                       : DType::kUnknown;
}

std::optional<Shape> NodeContext::attr_shape(const std::string& name) const {
  const tf::AttrValue* attribute = find_attribute(def_, name);
  return attribute != nullptr && attribute->has_shape() ? shape_from_tf(attribute->shape())
                                                        : std::nullopt;
}

bool NodeContext::is_nchw() const { return attr_string("data_format", "NHWC").starts_with("NC"); }

void NodeContext::set_image(size_t output, TensorId tensor) {
  if (is_nchw()) {
    set(output, tensor);
  } else {
    set_channels_first(output, tensor);
  }
}

std::vector<int64_t> NodeContext::spatial(const std::vector<int64_t>& list, int rank,
                                          int64_t fallback) const {
  std::vector<int64_t> result(static_cast<size_t>(std::max(0, rank - 2)), fallback);
  if (static_cast<int>(list.size()) == rank) {
    const auto first = static_cast<size_t>(is_nchw() ? 2 : 1);
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = list[first + i];
    }
  }
  return result;
}

TensorId NodeContext::emit(std::string_view type, std::vector<TensorId> inputs, AttrList attributes,
                           std::string_view domain) {
  return emitter_.emit_one({type, domain, name_, std::move(inputs), std::move(attributes)});
}

std::vector<TensorId> NodeContext::emit_many(std::string_view type, std::vector<TensorId> inputs,
                                             AttrList attributes, size_t outputs,
                                             std::string_view domain) {
  return emitter_.emit({type, domain, name_, std::move(inputs), std::move(attributes), outputs});
}

TensorId NodeContext::help(std::string_view type, std::vector<TensorId> inputs,
                           AttrList attributes) {
  return emitter_.emit_one(
      {type, "", fmt::format("{}/{}", name_, type), std::move(inputs), std::move(attributes)});
}

void NodeContext::set_known(std::string_view type, std::vector<TensorId> inputs,
                            const std::vector<KnownOutput>& outputs, AttrList attributes) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string suffix = i == 0 ? "" : std::to_string(i);
    attributes.emplace_back("shape" + suffix, outputs[i].shape);
    if (outputs[i].dtype != DType::kUnknown) {
      attributes.emplace_back("dtype" + suffix, int64_t{dtype_to_onnx(outputs[i].dtype)});
    }
    if (outputs[i].at_most) {
      attributes.emplace_back("at_most" + suffix, int64_t{1});
    }
  }
  const auto results =
      emit_many(type, std::move(inputs), std::move(attributes), outputs.size(), kTensorFlow);
  for (size_t i = 0; i < results.size(); ++i) {
    set(i, results[i]);
  }
}

void NodeContext::set_value(size_t output, ValueId value) {
  if (outputs_.size() <= output) {
    outputs_.resize(output + 1, kNoValue);
  }
  outputs_[output] = value;
}

void NodeContext::error(const std::string& message) {
  emitter_.fail(
      invalid_input(fmt::format("{} '{}': {}", printable(type(), 40), printable(name_), message)));
}

int NodeContext::axis(int64_t given, int rank) {
  if (given < -rank || given >= rank) {
    error(fmt::format("axis {} is outside the input's rank {}", given, rank));
    return 0;
  }
  return static_cast<int>(given < 0 ? given + rank : given);
}

}  // namespace dfsim::inline graphs
