// One of several equal operators on equal operands is enough.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

bool is_output(const EditableGraph& graph, OpId id) {
  const auto& outputs = graph.op(id).outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](TensorId output) {
    return output.valid() && graph.tensor(output).is_output;
  });
}

// Places of the operators in ONNX Runtime's order: depth first from the last one that no operator
// reads, later producers first.
std::map<OpId, size_t> places(const EditableGraph& graph) {
  std::map<OpId, size_t> place;
  std::set<OpId> entered;
  std::vector<std::pair<OpId, bool>> stack;  // second: all producers have their places
  for (const OpId id : graph.ops()) {
    const auto& outputs = graph.op(id).outputs;
    if (std::all_of(outputs.begin(), outputs.end(), [&](TensorId output) {
          return !output.valid() || graph.readers(output).empty();
        })) {
      stack.emplace_back(id, false);
    }
  }
  while (!stack.empty()) {
    const auto [id, left] = stack.back();
    stack.pop_back();
    if (left) {
      place.emplace(id, place.size());
    } else if (entered.insert(id).second) {
      stack.emplace_back(id, true);
      std::set<OpId> producers;
      for (const TensorId input : graph.op(id).inputs) {
        if (input.valid() && graph.producer(input).valid()) {
          producers.insert(graph.producer(input));
        }
      }
      for (const OpId producer : producers) {
        stack.emplace_back(producer, false);
      }
    }
  }
  return place;
}

// `kept` takes the place of `same`, unless that makes an output of the graph.
void replace(EditableGraph& graph, OpId same_id, OpId kept_id) {
  const std::vector<TensorId> same = graph.op(same_id).outputs;
  const std::vector<TensorId> kept = graph.op(kept_id).outputs;
  bool possible = true;
  for (size_t i = 0; i < same.size(); ++i) {
    possible &= !same[i].valid() || (kept[i].valid() && !graph.tensor(same[i]).is_output);
  }
  if (!possible) {
    return;
  }
  graph.remove_op(same_id);
  for (size_t i = 0; i < same.size(); ++i) {
    if (same[i].valid()) {
      graph.replace_reads(same[i], kept[i]);
    }
  }
}

}  // namespace

void share_common_subexpressions(EditableGraph& graph) {
  std::map<std::string, OpId> first;
  std::map<OpId, size_t> place;
  for (const OpId id : graph.ops()) {
    const std::string key = key_of(graph, graph.op(id));
    if (key.empty()) {
      continue;
    }
    const auto [entry, is_new] = first.try_emplace(key, id);
    if (is_new) {
      continue;
    }
    OpId same = id;
    // The order matters for outputs of the graph: they stay, but may stand for later operators.
    if (is_output(graph, id) || is_output(graph, entry->second)) {
      place = place.empty() ? places(graph) : place;
      if (place[id] < place[entry->second]) {
        std::swap(same, entry->second);
      }
    }
    replace(graph, same, entry->second);
  }
}

}  // namespace dfsim::inline graphs
