// Einsum as ONNX Runtime's CPU provider computes it, which takes up to four times as long as the
// product that it amounts to. Einsum is one kernel there, which no fusion looks into. Each operand
// first gets all axes in the order in which the equation names them, those that it lacks with one
// element, and is transposed once more for its product. The kernel does not look whether a
// transposition moves only axes of one element, which is then a copy, and copies the result from a
// buffer of its own into the output. Read in ONNX Runtime's sources
// (providers/cpu/math/einsum_utils) and compared with measured operators of version 1.32.
#include <algorithm>

#include "graphs/ir/moved_axes.h"
#include "graphs/passes/einsum/einsum_steps.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {

namespace {

class OrtEinsumLowering : public EinsumSteps {
 public:
  using EinsumSteps::EinsumSteps;

  void run() {
    in_scratch_ = true;
    order_axes();
    Wide left = summed(widened(0), 0, [&](char label) { return !is_needed_after(0, label); });
    for (size_t i = 1; i < op_.inputs.size(); ++i) {
      left = product(left, widened(i), i);
    }
    finish(copied(transposed(without_summed(left), labels_.result)));
  }

 private:
  // A tensor with all axes.
  struct Wide {
    TensorId tensor;
    std::string labels;
    std::vector<int64_t> extents;
    bool summed = false;  // and so a buffer of the kernel, which it may reshape
  };

  // Those behind an ellipsis come first, the outermost one ahead.
  void order_axes() {
    std::string hidden;
    std::string named;
    for (const std::string& own : labels_.operands) {
      for (const char label : own) {
        std::string& list = is_behind_ellipsis(label) ? hidden : named;
        list += has_label(list, label) ? "" : std::string(1, label);
      }
    }
    std::sort(hidden.rbegin(), hidden.rend());
    order_ = hidden + named;
  }

  Wide widened(size_t operand) {
    const std::string& own = labels_.operands[operand];
    std::string sorted;
    Wide wide;
    wide.labels = order_;
    for (const char label : order_) {
      sorted += has_label(own, label) ? std::string(1, label) : "";
      wide.extents.push_back(has_label(own, label) ? extents_.at(label) : 1);
    }
    const Part part = transposed({op_.inputs[operand], own}, sorted);
    wide.tensor = reshaped(part.tensor, wide.extents);
    return wide;
  }

  template <typename Ends>
  Wide summed(Wide wide, size_t operand, const Ends& ends) {
    std::vector<int64_t> axes;
    for (size_t axis = 0; axis < order_.size(); ++axis) {
      if (has_label(labels_.operands[operand], order_[axis]) && wide.extents[axis] > 1 &&
          ends(order_[axis])) {
        axes.push_back(static_cast<int64_t>(axis));
        wide.extents[axis] = 1;
      }
    }
    if (!axes.empty()) {
      wide.tensor = sum_of(wide.tensor, axes, wide.extents, true);
      wide.summed = true;
    }
    return wide;
  }

  Wide ordered(const Wide& wide, const std::string& order, bool may_reshape) {
    if (wide.labels == order) {
      return wide;
    }
    Wide result;
    result.labels = order;
    std::vector<int64_t> perm;
    for (const char label : order) {
      const size_t from = wide.labels.find(label);
      perm.push_back(static_cast<int64_t>(from));
      result.extents.push_back(wide.extents[from]);
    }
    if (may_reshape && moves_only_single_elements(perm, wide.extents)) {
      result.tensor = reshaped(wide.tensor, result.extents);
      return result;
    }
    result.tensor = permuted(wide.tensor, std::move(perm), result.extents);
    return result;
  }

  // The axes of a pair, by what they are in its product. One that has one element on both sides
  // counts as a column.
  struct Axes {
    std::string batch, rows, contracted, columns;
    int64_t batches = 1, m = 1, k = 1, n = 1;
  };

  Axes axes_of(const Wide& left, const Wide& right, size_t operand) const {
    Axes axes;
    for (size_t i = 0; i < order_.size(); ++i) {
      const char label = order_[i];
      const bool in_left = left.extents[i] > 1;
      const bool in_right = right.extents[i] > 1;
      if (has_label(labels_.operands[operand], label) && !is_needed_after(operand, label)) {
        axes.contracted += label;
        axes.k *= in_left ? left.extents[i] : 1;
      } else if (in_left && in_right) {
        axes.batch += label;
        axes.batches *= left.extents[i];
      } else if (in_left) {
        axes.rows += label;
        axes.m *= left.extents[i];
      } else {
        axes.columns += label;
        axes.n *= right.extents[i];
      }
    }
    return axes;
  }

  Wide product(const Wide& left, Wide right, size_t operand) {
    right = summed(std::move(right), operand, [&](char label) {
      return !is_needed_after(operand, label) && left.extents[order_.find(label)] == 1;
    });
    const Axes axes = axes_of(left, right, operand);
    const Wide a =
        ordered(left, axes.batch + axes.rows + axes.contracted + axes.columns, left.summed);
    const Wide b =
        ordered(right, axes.batch + axes.contracted + axes.columns + axes.rows, right.summed);
    const TensorId first = reshaped(a.tensor, {axes.batches, axes.m, axes.k});
    const TensorId second = reshaped(b.tensor, {axes.batches, axes.k, axes.n});
    const TensorId matrix = emit("MatMul", {first, second}, {axes.batches, axes.m, axes.n});
    Wide result;
    result.labels = axes.batch + axes.rows + axes.contracted + axes.columns;
    for (const char label : result.labels) {
      const size_t i = order_.find(label);
      result.extents.push_back(
          has_label(axes.contracted, label) ? 1 : std::max(left.extents[i], right.extents[i]));
    }
    result.tensor = reshaped(matrix, result.extents);
    return operand + 1 < op_.inputs.size() ? ordered(result, order_, true) : result;
  }

  Part without_summed(const Wide& wide) {
    std::string kept;
    for (const char label : wide.labels) {
      kept += has_label(labels_.result, label) ? std::string(1, label) : "";
    }
    return {reshaped(wide.tensor, extents_of(kept)), kept};
  }

  // As a transposition that moves nothing: dfsim's graphs have no other operator that only copies.
  Part copied(const Part& part) {
    const int64_t elements = volume_of(part.labels);
    const TensorId row = reshaped(part.tensor, {1, elements});
    in_scratch_ = false;
    const TensorId copy = permuted(row, {1, 0}, {elements, 1});
    return {reshaped(copy, extents_of(part.labels)), part.labels};
  }

  std::string order_;
};

}  // namespace

void lower_einsum_as_ort(EditableGraph& graph) { lower_each_einsum<OrtEinsumLowering>(graph); }

}  // namespace dfsim::inline graphs
