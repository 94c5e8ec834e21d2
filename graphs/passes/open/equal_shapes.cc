// Computed shapes that ONNX Runtime merges because they are computed in the same way from the same
// tensor, and how many operators read each.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "graphs/passes/open/follower.h"

namespace dfsim::inline graphs::open {
namespace {

constexpr std::array<std::string_view, 11> kShapeMakers = {
    "Shape", "Gather", "Slice", "Squeeze", "Unsqueeze", "Concat",
    "Cast",  "Add",    "Sub",   "Mul",     "Div"};

bool makes_a_shape(const Graph& graph, const Op& op) {
  const Tensor& result = graph.tensor(op.outputs[0]);
  return op.domain.empty() && op.outputs.size() == 1 && result.shape.rank() <= 1 &&
         result.shape.has_rank() && is_integer(result.dtype) &&
         std::find(kShapeMakers.begin(), kShapeMakers.end(), op.op_type) != kShapeMakers.end();
}

// Numbers tensors so that equal computations have equal numbers.
class Numbering {
 public:
  explicit Numbering(const Graph& graph) : graph_(graph), numbers_(graph.tensor_count()) {
    for (size_t t = 0; t < numbers_.size(); ++t) {
      numbers_[t] = number_of(own_text(TensorId(t)));
    }
  }

  size_t operator[](TensorId id) const { return numbers_[id.index()]; }

  void add(const Op& op) {
    std::string text = op.op_type;
    for (const TensorId input : op.inputs) {
      text += fmt::format("|{}", input.valid() ? std::to_string(numbers_[input.index()]) : "");
    }
    for (const auto& [name, value] : op.attributes.entries()) {
      if (const auto* number = std::get_if<int64_t>(&value)) {
        text += fmt::format("|{}={}", name, *number);
      } else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
        text += fmt::format("|{}=[{}]", name, fmt::join(*list, ","));
      }
    }
    numbers_[op.outputs[0].index()] = number_of(text);
  }

 private:
  // ONNX Runtime merges equal constants of one element only.
  std::string own_text(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    const ConstValue* value = graph_.constant(id);
    const bool made = tensor.producer.valid() && graph_.op(tensor.producer).op_type != "Constant";
    if (made || tensor.role == TensorRole::kActivation || value == nullptr || value->size() != 1 ||
        is_floating(value->dtype)) {
      return fmt::format("#{}", id.index());
    }
    return fmt::format("={}:{}:{}", static_cast<int>(value->dtype), value->extents.size(),
                       value->ints[0]);
  }

  size_t number_of(const std::string& text) {
    return by_text_.try_emplace(text, by_text_.size()).first->second;
  }

  const Graph& graph_;
  std::vector<size_t> numbers_;
  std::unordered_map<std::string, size_t> by_text_;
};

}  // namespace

void Follower::count_shape_readers() {
  Numbering numbers(graph_);
  std::unordered_map<size_t, size_t> readers;
  std::vector<TensorId> joined;
  for (const Op& op : graph_.ops()) {
    if (op.outputs.empty() || !op.outputs[0].valid() || !makes_a_shape(graph_, op)) {
      continue;
    }
    numbers.add(op);
    if (op.op_type == "Concat") {
      joined.push_back(op.outputs[0]);
      readers[numbers[op.outputs[0]]] += graph_.consumers(op.outputs[0]).size();
    }
  }
  for (const TensorId shape : joined) {
    if (readers[numbers[shape]] > 1) {
      shared_shapes_.insert(shape);
    }
  }
}

}  // namespace dfsim::inline graphs::open
