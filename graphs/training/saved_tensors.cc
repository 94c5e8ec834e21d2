// Chooses what stays in memory for the backward pass. `selective` drops results that are cheap
// to compute again; `full` keeps the ends of about sqrt(operators) sections, where a single
// tensor crosses (Chen and others 2016, arXiv:1604.06174).
#include "graphs/training/saved_tensors.h"

#include <algorithm>
#include <cmath>

namespace dfsim::inline graphs {
namespace {

// Cheap for what its results take in memory.
bool is_cheap(OpClass op_class) {
  switch (op_class) {
    case OpClass::kNorm:
    case OpClass::kSoftmax:
    case OpClass::kElementwise:
    case OpClass::kReduce:
    case OpClass::kPool:
    case OpClass::kDataMovement:
    case OpClass::kGather:
    case OpClass::kView:
      return true;
    default:
      return false;
  }
}

// Cuts the operators where a single tensor crosses, into sections of about sqrt(operators), and
// keeps those tensors.
void keep_section_ends(const Graph& forward, const std::vector<bool>& depends,
                       std::vector<bool>* keep) {
  const size_t ops = forward.op_count();
  std::vector<int> starts(ops + 1, 0);   // tensors that begin or cease to cross before op i
  std::vector<int64_t> sum(ops + 1, 0);  // of their indices: with one crossing, its index
  for (size_t t = 0; t < forward.tensor_count(); ++t) {
    const Tensor& tensor = forward.tensor(TensorId(t));
    const auto readers = forward.consumers(TensorId(t));
    if (!depends[t] || !tensor.producer.valid() || readers.empty()) {
      continue;
    }
    const size_t from = tensor.producer.index() + 1;
    const size_t until = readers.back().index() + 1;
    ++starts[from];
    --starts[until];
    sum[from] += static_cast<int64_t>(t);
    sum[until] -= static_cast<int64_t>(t);
  }
  const auto section = static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(ops))));
  int crossing = 0;
  int64_t index = 0;
  size_t last = 0;
  for (size_t i = 0; i < ops; ++i) {
    crossing += starts[i];
    index += sum[i];
    if (crossing == 1 && i - last >= section) {
      (*keep)[static_cast<size_t>(index)] = true;
      last = i;
    }
  }
}

}  // namespace

std::vector<bool> tensors_to_keep(const Graph& forward, const std::vector<bool>& depends,
                                  Recompute recompute) {
  std::vector<bool> keep(forward.tensor_count(), true);
  if (recompute == Recompute::kNone) {
    return keep;
  }
  for (size_t t = 0; t < forward.tensor_count(); ++t) {
    const Tensor& tensor = forward.tensor(TensorId(t));
    if (!depends[t] || !tensor.producer.valid()) {
      continue;
    }
    keep[t] = recompute == Recompute::kSelective && !is_cheap(forward.op(tensor.producer).op_class);
  }
  if (recompute == Recompute::kFull) {
    keep_section_ends(forward, depends, &keep);
  }
  return keep;
}

}  // namespace dfsim::inline graphs
