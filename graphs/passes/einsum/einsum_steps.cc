// Reads an Einsum's equation, and makes the operators that compute it.
#include "graphs/passes/einsum/einsum_steps.h"

#include <algorithm>

#include "graphs/algorithms/arena_plan.h"
#include "graphs/passes/origins.h"

namespace dfsim::inline graphs {

namespace {

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

bool repeats_label(std::string labels) {
  std::sort(labels.begin(), labels.end());
  return std::adjacent_find(labels.begin(), labels.end()) != labels.end();
}

}  // namespace

std::optional<EinsumLabels> einsum_labels_of(const EditableGraph& graph, const Op& op) {
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

bool EinsumSteps::applies() {
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

bool EinsumSteps::is_needed_after(size_t operand, char label) const {
  return has_label(labels_.result, label) ||
         std::any_of(labels_.operands.begin() + static_cast<std::ptrdiff_t>(
                                                    std::min(operand + 1, labels_.operands.size())),
                     labels_.operands.end(),
                     [label](const std::string& own) { return has_label(own, label); });
}

std::vector<int64_t> EinsumSteps::extents_of(const std::string& labels) const {
  std::vector<int64_t> extents;
  for (const char label : labels) {
    extents.push_back(extents_.at(label));
  }
  return extents;
}

int64_t EinsumSteps::volume_of(const std::string& labels) const {
  int64_t volume = 1;
  for (const char label : labels) {
    volume *= extents_.at(label);
  }
  return volume;
}

TensorId EinsumSteps::emit(const std::string& type, std::vector<TensorId> inputs,
                           const std::vector<int64_t>& extents, Attributes attributes) {
  Op op;
  op.op_type = type;
  op.name = op_.name + "/" + type + "_" + std::to_string(steps_++);
  op.version = op_.version;
  op.inputs = std::move(inputs);
  op.attributes = std::move(attributes);
  if (in_scratch_) {
    op.attributes.set(std::string(kScratch), int64_t{1});
  }
  const TensorId out =
      graph_.add_tensor(op.name, graph_.tensor(op_.outputs[0]).dtype, Shape::of(extents));
  op.outputs = {out};
  set_origins(&op, {{op_.op_type, op_.name}});
  last_ = graph_.add_op(std::move(op));
  return out;
}

TensorId EinsumSteps::sum_of(TensorId tensor, const std::vector<int64_t>& axes,
                             const std::vector<int64_t>& extents, bool keeps_axes) {
  Attributes attributes;
  attributes.set("keepdims", int64_t{keeps_axes ? 1 : 0});
  std::vector<TensorId> inputs = {tensor};
  if (op_.version < 13) {
    attributes.set("axes", axes);
  } else {
    inputs.push_back(graph_.add_ints(op_.name + "/axes", axes));
  }
  return emit("ReduceSum", std::move(inputs), extents, std::move(attributes));
}

TensorId EinsumSteps::permuted(TensorId tensor, std::vector<int64_t> perm,
                               const std::vector<int64_t>& extents) {
  Attributes attributes;
  attributes.set("perm", std::move(perm));
  return emit("Transpose", {tensor}, extents, std::move(attributes));
}

EinsumSteps::Part EinsumSteps::transposed(Part part, const std::string& order) {
  if (part.labels == order) {
    return part;
  }
  std::vector<int64_t> perm;
  for (const char label : order) {
    perm.push_back(static_cast<int64_t>(part.labels.find(label)));
  }
  return {permuted(part.tensor, std::move(perm), extents_of(order)), order};
}

TensorId EinsumSteps::reshaped(TensorId tensor, const std::vector<int64_t>& extents) {
  if (graph_.shape(tensor) == Shape::of(extents)) {
    return tensor;
  }
  return emit("Reshape", {tensor, graph_.add_ints(op_.name + "/shape", extents)}, extents);
}

void EinsumSteps::finish(const Part& part) {
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

}  // namespace dfsim::inline graphs
