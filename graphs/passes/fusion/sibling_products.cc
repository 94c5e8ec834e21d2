// Products of one matrix with several weights become one: queries, keys and values of attention.
//
// An engine puts the weights next to each other, so that one kernel computes the columns of all and
// reads the matrix once. Behind it, a Split by columns is a view. The rule leaves out products
// whose result the graph hands out, which has to be a tensor of its own, and quantised ones that
// write 8 bits, each with its own scale.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kSplitSince = 13;

// Where an operator has its operands.
struct ProductForm {
  size_t weight = 1;
  size_t bias = 2;
  bool quantised = false;  // scales and zero points follow a and the weight
};

std::optional<ProductForm> form_of(const Op& op) {
  if (op.op_type == "MatMul" && op.domain.empty()) {
    return ProductForm{};
  }
  const Attributes& attributes = op.attributes;
  if (op.op_type == "Gemm" && op.domain.empty() && attributes.int_or("transA", 0) == 0 &&
      attributes.get_float("alpha").value_or(1) == 1 &&
      attributes.get_float("beta").value_or(1) == 1) {
    return ProductForm{};
  }
  constexpr size_t kWithoutResultScale = 7;
  if (op.op_type == "QGemm" && op.domain == kMicrosoft && op.inputs.size() <= kWithoutResultScale &&
      attributes.int_or("transA", 0) == 0 && attributes.get_float("alpha").value_or(1) == 1) {
    return ProductForm{.weight = 3, .bias = 6, .quantised = true};
  }
  return std::nullopt;
}

bool is_transposed(const Op& op) { return op.attributes.int_or("transB", 0) != 0; }

TensorId input_or_none(const Op& op, size_t input) {
  return input < op.inputs.size() ? op.inputs[input] : TensorId();
}

class SiblingMerger {
 public:
  explicit SiblingMerger(EditableGraph& graph) : graph_(graph) {}

  void run() {
    for (const OpId id : graph_.ops()) {
      const auto form = graph_.alive(id) ? form_of(graph_.op(id)) : std::nullopt;
      if (form && is_candidate(id, *form)) {
        const std::vector<OpId> siblings = siblings_of(id, *form);
        if (siblings.size() > 1) {
          merge(siblings, *form);
        }
      }
    }
  }

 private:
  int64_t columns(const Op& op, const ProductForm& form) const {
    return graph_.shape(op.inputs[form.weight])[is_transposed(op) ? 0 : 1].extent();
  }

  // One element per column.
  bool is_row(TensorId id, int64_t columns) const {
    return graph_.is_fixed(id) && graph_.shape(id).rank() == 1 &&
           graph_.shape(id)[0] == Dim(columns);
  }

  bool is_candidate(OpId id, const ProductForm& form) const {
    const Op& op = graph_.op(id);
    const TensorId weight = input_or_none(op, form.weight);
    const TensorId result = op.outputs[0];
    if (!weight.valid() || !graph_.is_fixed(weight) || graph_.is_parameter(op.inputs[0]) ||
        !graph_.shape(weight).is_static() || graph_.shape(weight).rank() != 2 ||
        !graph_.shape(result).is_static() || graph_.shape(result).rank() < 2 ||
        graph_.tensor(result).is_output || graph_.readers(result).empty()) {
      return false;
    }
    const int64_t count = columns(op, form);
    const TensorId bias = input_or_none(op, form.bias);
    if (bias.valid() && !is_row(bias, count)) {
      return false;
    }
    if (!form.quantised) {
      return true;
    }
    // Scale and zero point of the weight: one for all, or one per column.
    return std::ranges::all_of(std::array{form.weight + 1, form.weight + 2}, [&](size_t input) {
      const TensorId id = input_or_none(op, input);
      return !id.valid() || graph_.shape(id).rank() == 0 || is_row(id, count);
    });
  }

  // Both are the same but for weights, their scales and biases. Both read the same bytes, so with
  // the same scale.
  bool are_siblings(const Op& a, const Op& b, const ProductForm& form) const {
    return a.op_type == b.op_type && a.domain == b.domain && a.inputs[0] == b.inputs[0] &&
           is_transposed(a) == is_transposed(b) &&
           input_or_none(a, form.bias).valid() == input_or_none(b, form.bias).valid() &&
           graph_.tensor(a.inputs[form.weight]).dtype ==
               graph_.tensor(b.inputs[form.weight]).dtype &&
           graph_.tensor(a.outputs[0]).dtype == graph_.tensor(b.outputs[0]).dtype;
  }

  std::vector<OpId> siblings_of(OpId id, const ProductForm& form) const {
    std::vector<OpId> found;
    for (const OpId reader : graph_.readers(graph_.op(id).inputs[0])) {
      const Op& op = graph_.op(reader);
      if (form_of(op) && are_siblings(graph_.op(id), op, form) && is_candidate(reader, form)) {
        found.push_back(reader);
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  void merge(const std::vector<OpId>& siblings, const ProductForm& form) {
    const Op first = graph_.op(siblings.front());
    std::vector<int64_t> parts;
    std::vector<TensorId> results;
    int64_t total = 0;
    for (const OpId id : siblings) {
      parts.push_back(columns(graph_.op(id), form));
      results.push_back(graph_.op(id).outputs[0]);
      total += parts.back();
    }
    const std::string name = graph_.tensor(results.front()).name + "/siblings";
    Op merged = first;
    merged.name.clear();
    const auto row = [&](size_t input, const char* suffix) {
      merged.inputs[input] = graph_.add_weight(
          name + suffix, graph_.tensor(first.inputs[input]).dtype, Shape({Dim(total)}));
    };
    Dims weight = graph_.shape(first.inputs[form.weight]).dims();
    weight[is_transposed(first) ? 0 : 1] = Dim(total);
    merged.inputs[form.weight] = graph_.add_weight(
        name + "/weight", graph_.tensor(first.inputs[form.weight]).dtype, Shape(std::move(weight)));
    if (form.quantised) {
      row(form.weight + 1, "/scale");
    }
    if (form.quantised && input_or_none(first, form.weight + 2).valid()) {
      row(form.weight + 2, "/zero");
    }
    if (input_or_none(first, form.bias).valid()) {
      row(form.bias, "/bias");
    }
    const Tensor result = graph_.tensor(results.front());
    Dims dims = result.shape.dims();
    const auto axis = static_cast<int64_t>(dims.size()) - 1;
    dims.back() = Dim(total);
    merged.outputs = {graph_.add_tensor(name, result.dtype, Shape(std::move(dims)))};
    Op split;
    split.op_type = "Split";
    split.name = name + "/split";
    split.version = kSplitSince;
    split.inputs = {merged.outputs[0], graph_.add_ints(name + "/columns", parts)};
    split.outputs = results;
    split.attributes.set("axis", axis);
    set_origins(&split, {{"Split", split.name}});
    graph_.fuse(siblings, std::move(merged));
    graph_.add_op(std::move(split));
  }

  EditableGraph& graph_;
};

}  // namespace

void merge_sibling_products(EditableGraph& graph) { SiblingMerger(graph).run(); }

}  // namespace dfsim::inline graphs
