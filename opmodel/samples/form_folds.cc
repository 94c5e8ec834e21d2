// Leave-one-form-out, a few forms at a time: forms take turns in the order of their names, so that
// equal rows give equal folds.
#include "opmodel/samples/form_folds.h"

#include <map>
#include <set>

#include "opmodel/features/op_form.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kMostPointsOfForm = 60;

std::map<std::string, std::vector<size_t>> ops_by_form(const TrainingData& data,
                                                       const std::vector<uint32_t>& ops) {
  std::map<std::string, std::vector<size_t>> forms;
  for (size_t i = 0; i < ops.size(); ++i) {
    forms[op_form(data.ops[ops[i]], data.geometries[ops[i]])].push_back(i);
  }
  return forms;
}

}  // namespace

FormFolds form_folds(const TrainingData& data, const std::vector<uint32_t>& ops) {
  FormFolds folds;
  folds.fold.assign(ops.size(), kAlwaysTrained);
  folds.counts.assign(ops.size(), false);
  size_t next = 0;
  for (const auto& [form, members] : ops_by_form(data, ops)) {
    if (members.size() < static_cast<size_t>(kLeastShapesOfForm) ||
        2 * members.size() >= ops.size()) {
      continue;
    }
    const size_t every = (members.size() - 1) / kMostPointsOfForm + 1;
    for (size_t i = 0; i < members.size(); ++i) {
      folds.fold[members[i]] = next;
      folds.counts[members[i]] = i % every == 0;
    }
    next = (next + 1) % kFormFolds;
  }
  return folds;
}

std::vector<FormTurn> form_turns(const TrainingData& data, const std::vector<uint32_t>& ops) {
  const FormFolds folds = form_folds(data, ops);
  std::vector<FormTurn> turns;
  for (size_t fold = 0; fold < kFormFolds; ++fold) {
    FormTurn turn;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (folds.fold[i] != fold) {
        turn.train.push_back(i);
        turn.kinds.insert(data.geometries[ops[i]].kind);
      } else if (folds.counts[i]) {
        turn.held.push_back(i);
      }
    }
    if (!turn.held.empty()) {
      turns.push_back(std::move(turn));
    }
  }
  return turns;
}

void count_forms(const TrainingData& data, const std::vector<uint32_t>& ops,
                 std::vector<std::pair<std::string, int64_t>>* forms) {
  std::map<std::string, int64_t> counts(forms->begin(), forms->end());
  for (const auto& [form, members] : ops_by_form(data, ops)) {
    std::set<uint64_t> shapes;  // one shape on several devices counts once
    for (const size_t i : members) {
      shapes.insert(data.geometries[ops[i]].key);
    }
    counts[form] += static_cast<int64_t>(shapes.size());
  }
  forms->assign(counts.begin(), counts.end());
}

}  // namespace dfsim::inline opmodel
