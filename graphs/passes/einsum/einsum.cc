// Einsum as compilers compute it: pair by pair from the left. An axis that only one operand of a
// pair has and no later pair needs is summed; then both are transposed to [batch, rows, contracted]
// and [batch, contracted, columns], and a MatMul makes the product. At last the axes get the
// result's order.
#include "graphs/passes/einsum/einsum_steps.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {

namespace {

// As a compiler orders them: pair by pair from the left, no axis twice.
class EinsumLowering : public EinsumSteps {
 public:
  using EinsumSteps::EinsumSteps;

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
    return {sum_of(part.tensor, axes, extents_of(kept), false), kept};
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
};

}  // namespace

void lower_einsum(EditableGraph& graph) { lower_each_einsum<EinsumLowering>(graph); }

}  // namespace dfsim::inline graphs
