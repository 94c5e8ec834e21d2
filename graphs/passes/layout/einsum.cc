// Einsum as runtimes compute it: pair by pair from the left. An axis that only one
// operand of a pair has and no later pair needs is summed; then both are transposed to [batch,
// rows, contracted] and [batch, contracted, columns], and a MatMul makes the product. At last the
// axes get the result's order.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

// Operands and result as strings with one character per axis. Axes behind an ellipsis have
// characters of their own, counted from the last one.
struct EinsumLabels {
  std::vector<std::string> operands;
  std::string result;
};

constexpr char kFirstHidden = 1;  // below every letter

std::string without_blanks(const std::string& text) {
  std::string clean;
  std::copy_if(text.begin(), text.end(), std::back_inserter(clean),
               [](char c) { return c != ' '; });
  return clean;
}

// "...ij" of rank 4 as two hidden axes and "ij".
std::string with_hidden_axes(const std::string& labels, size_t hidden) {
  const size_t dots = labels.find("...");
  if (dots == std::string::npos) {
    return labels;
  }
  std::string axes;
  for (size_t i = hidden; i-- > 0;) {
    axes += static_cast<char>(kFirstHidden + static_cast<char>(i));
  }
  return labels.substr(0, dots) + axes + labels.substr(dots + 3);
}

std::optional<EinsumLabels> labels_of(const EditableGraph& graph, const Op& op) {
  const std::string* text = op.attributes.get_string("equation");
  if (text == nullptr) {
    return std::nullopt;
  }
  const std::string clean = without_blanks(*text);
  const size_t arrow = clean.find("->");
  if (arrow == std::string::npos) {
    return std::nullopt;  // exporters write the result's labels
  }
  EinsumLabels labels;
  std::string rest = clean.substr(0, arrow) + ",";
  size_t most_hidden = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const size_t comma = rest.find(',');
    if (comma == std::string::npos || !graph.shape(op.inputs[i]).is_static()) {
      return std::nullopt;
    }
    const std::string own = rest.substr(0, comma);
    rest = rest.substr(comma + 1);
    const bool dots = own.find("...") != std::string::npos;
    const auto rank = static_cast<size_t>(graph.shape(op.inputs[i]).rank());
    const size_t named = own.size() - (dots ? 3 : 0);
    constexpr size_t kMostHidden = 16;
    if (named > rank || rank - named > kMostHidden || (!dots && named != rank)) {
      return std::nullopt;
    }
    most_hidden = std::max(most_hidden, rank - named);
    labels.operands.push_back(with_hidden_axes(own, rank - named));
  }
  labels.result = with_hidden_axes(clean.substr(arrow + 2), most_hidden);
  return rest.empty() ? std::optional(std::move(labels)) : std::nullopt;
}

bool has_label(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

bool repeats_label(std::string labels) {
  std::sort(labels.begin(), labels.end());
  return std::adjacent_find(labels.begin(), labels.end()) != labels.end();
}

class EinsumLowering {
 public:
  EinsumLowering(EditableGraph& graph, Op op, EinsumLabels labels)
      : graph_(graph), op_(std::move(op)), labels_(std::move(labels)) {}

  // Whether each label has one extent everywhere: diagonals and broadcast operands stay as they
  // are.
  bool applies() {
    for (size_t i = 0; i < labels_.operands.size(); ++i) {
      const std::string& own = labels_.operands[i];
      if (repeats_label(own)) {
        return false;
      }
      for (size_t axis = 0; axis < own.size(); ++axis) {
        const int64_t extent = graph_.shape(op_.inputs[i])[static_cast<int>(axis)].extent();
        if (extents_.try_emplace(own[axis], extent).first->second != extent) {
          return false;
        }
      }
    }
    return !repeats_label(labels_.result) &&
           std::all_of(labels_.result.begin(), labels_.result.end(),
                       [&](char label) { return extents_.contains(label); });
  }

  // The operator itself is gone already, so that its result has no producer.
  void run() {
    Part left{op_.inputs[0], labels_.operands[0]};
    for (size_t i = 1; i < op_.inputs.size(); ++i) {
      left = product(std::move(left), {op_.inputs[i], labels_.operands[i]}, i);
    }
    left = summed(std::move(left), "", labels_.operands.size());
    left = transposed(std::move(left), labels_.result);
    finish(left);
  }

 private:
  struct Part {
    TensorId tensor;
    std::string labels;
  };

  bool is_needed_after(size_t operand, char label) const {
    return has_label(labels_.result, label) ||
           std::any_of(labels_.operands.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                      operand + 1, labels_.operands.size())),
                       labels_.operands.end(),
                       [label](const std::string& own) { return has_label(own, label); });
  }

  std::vector<int64_t> extents_of(const std::string& labels) const {
    std::vector<int64_t> extents;
    for (const char label : labels) {
      extents.push_back(extents_.at(label));
    }
    return extents;
  }

  int64_t volume_of(const std::string& labels) const {
    int64_t volume = 1;
    for (const char label : labels) {
      volume *= extents_.at(label);
    }
    return volume;
  }

  TensorId emit(const std::string& type, std::vector<TensorId> inputs,
                const std::vector<int64_t>& extents, Attributes attributes = {}) {
    Op op;
    op.op_type = type;
    op.name = op_.name + "/" + type + "_" + std::to_string(steps_++);
    op.version = op_.version;
    op.inputs = std::move(inputs);
    op.attributes = std::move(attributes);
    const TensorId out =
        graph_.add_tensor(op.name, graph_.tensor(op_.outputs[0]).dtype, Shape::of(extents));
    op.outputs = {out};
    set_origins(&op, {{op_.op_type, op_.name}});
    last_ = graph_.add_op(std::move(op));
    return out;
  }

  // Without the labels that neither `other` nor anything later needs.
  Part summed(Part part, const std::string& other, size_t operand) {
    std::vector<int64_t> axes;
    std::string kept;
    for (size_t axis = 0; axis < part.labels.size(); ++axis) {
      const char label = part.labels[axis];
      if (has_label(other, label) || is_needed_after(operand, label)) {
        kept += label;
      } else {
        axes.push_back(static_cast<int64_t>(axis));
      }
    }
    if (axes.empty()) {
      return part;
    }
    Attributes attributes;
    attributes.set("keepdims", int64_t{0});
    std::vector<TensorId> inputs = {part.tensor};
    if (op_.version < 13) {
      attributes.set("axes", axes);
    } else {
      inputs.push_back(graph_.add_ints(op_.name + "/axes", axes));
    }
    return {emit("ReduceSum", std::move(inputs), extents_of(kept), std::move(attributes)), kept};
  }

  Part transposed(Part part, const std::string& order) {
    if (part.labels == order) {
      return part;
    }
    std::vector<int64_t> perm;
    for (const char label : order) {
      perm.push_back(static_cast<int64_t>(part.labels.find(label)));
    }
    Attributes attributes;
    attributes.set("perm", perm);
    return {emit("Transpose", {part.tensor}, extents_of(order), std::move(attributes)), order};
  }

  TensorId reshaped(TensorId tensor, const std::vector<int64_t>& extents) {
    if (graph_.shape(tensor) == Shape::of(extents)) {
      return tensor;
    }
    return emit("Reshape", {tensor, graph_.add_ints(op_.name + "/shape", extents)}, extents);
  }

  Part product(Part left, Part right, size_t operand) {
    const std::string right_before = right.labels;
    right = summed(std::move(right), left.labels, operand);
    left = summed(std::move(left), right_before, operand);
    std::string batch;
    std::string contracted;
    std::string rows;
    std::string columns;
    for (const char label : left.labels) {
      const bool shared = has_label(right.labels, label);
      (!shared ? rows : is_needed_after(operand, label) ? batch : contracted) += label;
    }
    for (const char label : right.labels) {
      columns += has_label(left.labels, label) ? "" : std::string(1, label);
    }
    left = transposed(std::move(left), batch + rows + contracted);
    right = transposed(std::move(right), batch + contracted + columns);
    std::vector<int64_t> extents = extents_of(batch);
    const auto with = [&](int64_t a, int64_t b) {
      std::vector<int64_t> list = extents;
      list.push_back(a);
      list.push_back(b);
      return list;
    };
    const int64_t m = volume_of(rows);
    const int64_t k = volume_of(contracted);
    const int64_t n = volume_of(columns);
    const TensorId a = reshaped(left.tensor, with(m, k));
    const TensorId b = reshaped(right.tensor, with(k, n));
    const TensorId matrix = emit("MatMul", {a, b}, with(m, n));
    const std::string labels = batch + rows + columns;
    return {reshaped(matrix, extents_of(labels)), labels};
  }

  // The last step makes the Einsum's own result; without any step the operand is the result.
  void finish(const Part& part) {
    if (!last_.valid()) {
      Op identity;
      identity.op_type = "Identity";
      identity.name = op_.name;
      identity.version = op_.version;
      identity.inputs = {part.tensor};
      identity.outputs = {op_.outputs[0]};
      graph_.add_op(std::move(identity));
      return;
    }
    graph_.set_output(last_, 0, op_.outputs[0]);
  }

  EditableGraph& graph_;
  Op op_;
  EinsumLabels labels_;
  std::map<char, int64_t> extents_;
  OpId last_;
  int steps_ = 0;
};

}  // namespace

void lower_einsum(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.op_type != "Einsum" || !op.domain.empty() || op.outputs.size() != 1) {
      continue;
    }
    auto labels = labels_of(graph, op);
    if (!labels || !graph.shape(op.outputs[0]).is_static()) {
      continue;
    }
    EinsumLowering lowering(graph, op, std::move(*labels));
    if (lowering.applies()) {
      graph.remove_op(id);
      lowering.run();
    }
  }
}

}  // namespace dfsim::inline graphs
