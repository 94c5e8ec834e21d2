// EinsumSteps: what the ways of writing an Einsum out have in common (einsum.cc, ort_einsum.cc).
// Internal to graphs/passes/einsum.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// Operands and result as strings with one character per axis. Axes behind an ellipsis have
// characters of their own below every letter, counted from the last one.
struct EinsumLabels {
  std::vector<std::string> operands;
  std::string result;
};

// Nothing when the equation is absent or leaves the result's labels open, or an operand's shape is.
std::optional<EinsumLabels> einsum_labels_of(const EditableGraph& graph, const Op& op);

inline bool is_behind_ellipsis(char label) { return label < ' '; }
inline bool has_label(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

// The operators of one Einsum, each behind the one before. The Einsum itself is gone already when
// they are made, so that its result has no producer.
class EinsumSteps {
 public:
  EinsumSteps(EditableGraph& graph, Op op, EinsumLabels labels)
      : graph_(graph), op_(std::move(op)), labels_(std::move(labels)) {}

  // Whether each label has one extent everywhere: diagonals and broadcast operands stay as they
  // are.
  bool applies();

 protected:
  struct Part {
    TensorId tensor;
    std::string labels;
  };

  bool is_needed_after(size_t operand, char label) const;
  std::vector<int64_t> extents_of(const std::string& labels) const;
  int64_t volume_of(const std::string& labels) const;

  TensorId emit(const std::string& type, std::vector<TensorId> inputs,
                const std::vector<int64_t>& extents, Attributes attributes = {});
  // The sum of the tensor over these axes.
  TensorId sum_of(TensorId tensor, const std::vector<int64_t>& axes,
                  const std::vector<int64_t>& extents, bool keeps_axes);
  // The tensor with its axes in this order; `extents` is what they are then.
  TensorId permuted(TensorId tensor, std::vector<int64_t> perm,
                    const std::vector<int64_t>& extents);
  Part transposed(Part part, const std::string& order);
  TensorId reshaped(TensorId tensor, const std::vector<int64_t>& extents);
  // The last step makes the Einsum's own result; without any step the operand is the result.
  void finish(const Part& part);

  EditableGraph& graph_;
  Op op_;
  EinsumLabels labels_;
  std::map<char, int64_t> extents_;
  OpId last_;
  int steps_ = 0;
  bool in_scratch_ = false;  // what `emit` makes, from now on
};

// Replaces each Einsum that `Lowering`, an EinsumSteps with `run`, applies to.
template <typename Lowering>
void lower_each_einsum(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.op_type != "Einsum" || !op.domain.empty() || op.outputs.size() != 1) {
      continue;
    }
    auto labels = einsum_labels_of(graph, op);
    if (!labels || !graph.shape(op.outputs[0]).is_static()) {
      continue;
    }
    Lowering lowering(graph, op, std::move(*labels));
    if (lowering.applies()) {
      graph.remove_op(id);
      lowering.run();
    }
  }
}

}  // namespace dfsim::inline graphs
