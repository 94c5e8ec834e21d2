// One of several equal operators on equal operands is enough.
#include <map>
#include <string>

#include <fmt/format.h>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

std::string value_text(const ConstValue& value) {
  std::string text =
      fmt::format("{}[{}]", static_cast<int>(value.dtype), fmt::join(value.extents, ","));
  return text + (is_floating(value.dtype) ? fmt::format("{}", fmt::join(value.floats, ","))
                                          : fmt::format("{}", fmt::join(value.ints, ",")));
}

// Text that two attributes share only when they are equal; false for subgraphs.
bool attribute_text(const AttrValue& value, std::string* text) {
  if (const auto* i = std::get_if<int64_t>(&value)) {
    *text += fmt::format("i{}", *i);
  } else if (const auto* d = std::get_if<double>(&value)) {
    *text += fmt::format("f{}", *d);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    *text += fmt::format("s{}:{}", s->size(), *s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    *text += fmt::format("I{}", fmt::join(*ints, ","));
  } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
    *text += fmt::format("F{}", fmt::join(*floats, ","));
  } else if (const auto* tensor = std::get_if<ConstValue>(&value)) {
    *text += value_text(*tensor);
  } else {
    return false;
  }
  return true;
}

bool is_random(const Op& op) {
  return op.op_type.starts_with("Random") || op.op_type == "Bernoulli" ||
         op.op_type == "Multinomial";
}

// "" for operators that are never shared.
std::string key_of(const EditableGraph& graph, const Op& op) {
  if (op.op_class == OpClass::kControlFlow || is_random(op)) {
    return "";
  }
  std::string key = fmt::format("{}|{}|{}", op.domain, op.op_type, op.outputs.size());
  for (const TensorId input : op.inputs) {
    // Equal small constants are one, wherever they came from.
    const ConstValue* value = input.valid() ? graph.constant(input) : nullptr;
    key += value != nullptr ? "|=" + value_text(*value)
                            : fmt::format("|{}", input.valid() ? input.value() : ~0U);
  }
  for (const auto& [name, value] : op.attributes.entries()) {
    if (name == kOriginTypes || name == kOriginNames) {
      continue;
    }
    key += "|" + name;
    if (!attribute_text(value, &key)) {
      return "";
    }
  }
  return key;
}

}  // namespace

void share_common_subexpressions(EditableGraph& graph) {
  std::map<std::string, OpId> first;
  for (const OpId id : graph.ops()) {
    const std::string key = key_of(graph, graph.op(id));
    if (key.empty()) {
      continue;
    }
    const auto [entry, is_new] = first.try_emplace(key, id);
    if (is_new) {
      continue;
    }
    const std::vector<TensorId> same = graph.op(id).outputs;
    const std::vector<TensorId> kept = graph.op(entry->second).outputs;
    bool possible = true;
    for (size_t i = 0; i < same.size(); ++i) {
      possible &= !same[i].valid() || (kept[i].valid() && !graph.tensor(same[i]).is_output);
    }
    if (possible) {
      graph.remove_op(id);
      for (size_t i = 0; i < same.size(); ++i) {
        if (same[i].valid()) {
          graph.replace_reads(same[i], kept[i]);
        }
      }
    }
  }
}

}  // namespace dfsim::inline graphs
