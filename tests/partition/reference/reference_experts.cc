// Reference executor: mixtures of experts. The k largest entries of the router choose the experts
// and weigh them, in place of their softmax.
#include <algorithm>
#include <numeric>

#include "tests/partition/reference/reference_executor.h"

namespace dfsim {
namespace {

class Experts {
 public:
  Experts(const Op& op, const std::vector<RefTensor>& inputs)
      : inputs_(inputs), packed_(op.op_type == "QMoE"), hidden_(inputs[0].extents.back()) {
    const std::vector<int64_t>& gate = inputs[2].extents;
    inner_ = packed_ || gate[1] != hidden_ ? gate[1] : gate[2];
  }

  int64_t inner() const { return inner_; }
  bool has_up() const { return present(matrix(2)); }

  // From input `i` to output `o` of matrix 0: gate, 1: down, 2: up. A byte stands for two equal
  // weights, times the scale of its block.
  double weight(size_t which, int64_t e, int64_t i, int64_t o) const {
    const RefTensor& m = inputs_[matrix(which)];
    if (packed_) {
      const RefTensor& scale = inputs_[matrix(which) + 1];
      const int64_t length = which == 1 ? inner_ : hidden_;
      return m[{e, o, i * m.extents[2] / length}] * scale[{e, o, i * scale.extents[2] / length}];
    }
    const bool input_first = which == 1 ? m.extents[1] == inner_ : m.extents[1] == hidden_;
    return input_first ? m[{e, i, o}] : m[{e, o, i}];
  }

  double bias(size_t which, int64_t e, int64_t o) const {
    const size_t at = matrix(which) + (packed_ ? 2 : 1);
    return present(at) ? inputs_[at][{e, o}] : 0;
  }

  // An expert's result for one row.
  double result(int64_t e, const std::vector<double>& x, int64_t o) const {
    double sum = bias(1, e, o);
    for (int64_t j = 0; j < inner_; ++j) {
      double gate = bias(0, e, j);
      double up = has_up() ? bias(2, e, j) : 1;
      for (int64_t i = 0; i < hidden_; ++i) {
        gate += x[static_cast<size_t>(i)] * weight(0, e, i, j);
        up += has_up() ? x[static_cast<size_t>(i)] * weight(2, e, i, j) : 0;
      }
      sum += std::max(gate, 0.0) * up * weight(1, e, j, o);
    }
    return sum;
  }

 private:
  size_t matrix(size_t which) const { return 2 + which * (packed_ ? 3 : 2); }
  bool present(size_t i) const { return i < inputs_.size() && !inputs_[i].values.empty(); }

  const std::vector<RefTensor>& inputs_;
  bool packed_;
  int64_t hidden_;
  int64_t inner_ = 0;
};

std::vector<int64_t> chosen_experts(const RefTensor& router, int64_t row, int64_t k) {
  std::vector<int64_t> order(static_cast<size_t>(router.extents[1]));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return router[{row, a}] > router[{row, b}];
  });
  order.resize(static_cast<size_t>(std::min<int64_t>(k, router.extents[1])));
  return order;
}

}  // namespace

void run_experts(const Op& op, const std::vector<RefTensor>& inputs, RefTensor& out) {
  const Experts experts(op, inputs);
  const RefTensor& router = inputs[1];
  const int64_t k = op.attributes.int_or("k", 1);
  const auto hidden = static_cast<size_t>(out.extents.back());
  const auto rows = static_cast<int64_t>(out.values.size() / hidden);
  for (int64_t row = 0; row < rows; ++row) {
    const auto begin = inputs[0].values.begin() + row * static_cast<int64_t>(hidden);
    const std::vector<double> x(begin, begin + static_cast<int64_t>(hidden));
    for (size_t o = 0; o < hidden; ++o) {
      double sum = 0;
      for (const int64_t e : chosen_experts(router, row, k)) {
        sum += router[{row, e}] * experts.result(e, x, static_cast<int64_t>(o));
      }
      out.values[static_cast<size_t>(row) * hidden + o] = sum;
    }
  }
}

}  // namespace dfsim
