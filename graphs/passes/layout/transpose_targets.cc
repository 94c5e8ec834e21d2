// One walk from the last operator to the first: an operator that a Transpose can pass hands what
// its results lead to on to its operands.
#include "graphs/passes/layout/transpose_targets.h"

#include <algorithm>

#include "graphs/passes/layout/transpose_rules.h"

namespace dfsim::inline graphs {
namespace {

void add(const std::vector<Permutation>& perms, std::vector<Permutation>* known) {
  for (const Permutation& perm : perms) {
    if (std::find(known->begin(), known->end(), perm) == known->end()) {
      known->push_back(perm);
    }
  }
}

}  // namespace

void TransposeTargets::find(const std::vector<OpId>& order) {
  perms_.clear();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Op& op = graph_.op(*it);
    const TransposeRule rule = transpose_rule(op);
    std::vector<Permutation> perms;
    if (rule == TransposeRule::kTranspose) {
      const auto* perm = op.attributes.get_ints("perm");
      perms.push_back(perm != nullptr ? *perm : Permutation{});
    } else if (moves_on(rule)) {
      for (const TensorId output : op.outputs) {
        if (const auto found = perms_.find(output); found != perms_.end()) {
          add(found->second, &perms);
        }
      }
    }
    if (perms.empty()) {
      continue;
    }
    for (const size_t i : transposed_operands(graph_, op, rule)) {
      add(perms, &perms_[op.inputs[i]]);
    }
  }
}

bool TransposeTargets::leads(TensorId id, const Permutation& perm) const {
  const auto found = perms_.find(id);
  if (found == perms_.end()) {
    return false;
  }
  const auto readers = graph_.readers(id);
  const bool alone = !graph_.tensor(id).is_output &&
                     std::all_of(readers.begin(), readers.end(),
                                 [&](OpId reader) { return reader == readers.front(); });
  return alone || std::find(found->second.begin(), found->second.end(), inverse(perm)) !=
                      found->second.end();
}

void TransposeTargets::copy(TensorId from, TensorId to) {
  if (const auto found = perms_.find(from); found != perms_.end()) {
    const std::vector<Permutation> perms = found->second;
    perms_[to] = perms;
  }
}

}  // namespace dfsim::inline graphs
