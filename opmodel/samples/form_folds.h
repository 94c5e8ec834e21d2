// Form folds: which points to leave out together to learn how far a model errs on operators in a
// form (features/op_form.h) that it has never seen. A point of a part is given by its operator, an
// index into TrainingData::ops; several points may have the same one.Internal to opmodel/train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "opmodel/samples/training_data.h"

namespace dfsim::inline opmodel {

inline constexpr size_t kFormFolds = 4;
inline constexpr size_t kAlwaysTrained = kFormFolds;

struct FormFolds {
  // By point: the fold that leaves its form out, or kAlwaysTrained.
  std::vector<size_t> fold;
  // By point: evaluated when it is left out. The number per form is limited, so that a
  // frequent form does not outvote the rare ones.
  std::vector<bool> counts;
};

// All points of a form are in one fold. A form with few points teaches nothing, and one with half
// of the points or more is what the part is about: every model that uses the part has it. Both are
// always trained on. O(n log n).
FormFolds form_folds(const TrainingData& data, const std::vector<uint32_t>& ops);

// One fold's trees and rows, as indices into `ops`.
struct FormTurn {
  std::vector<size_t> train;
  std::vector<size_t> held;     // that count, of the forms left out; never empty
  std::set<std::string> kinds;  // of the operators in `train`
};

// The turns of form_folds() that leave something out. O(folds n log n).
std::vector<FormTurn> form_turns(const TrainingData& data, const std::vector<uint32_t>& ops);

// Names of the forms and their numbers of distinct shapes, by name. Adds to `forms`. O(n log n).
void count_forms(const TrainingData& data, const std::vector<uint32_t>& ops,
                 std::vector<std::pair<std::string, int64_t>>* forms);

}  // namespace dfsim::inline opmodel
