// --split: the policies compared on a model whose operators are cut into pieces, and the search for
// the cut and the policy that are best together.
//
// Each way to cut (partition/pieces/task_split.h: operators that are worth it, or all that the
// batch reaches; into 2, 4, ... pieces up to the number of devices, or the number given) becomes a
// problem of its own, which every policy plans and the simulator runs. With "auto" whole operators
// compete, too, and the best way is then improved: operator by operator, the longest first, a cut
// is taken back where the best policy is faster without it ("fewer").
#pragma once

#include <string>

#include "base/status.h"
#include "schedulers/registry.h"
#include "study/comparison/compare_problem.h"
#include "study/progress.h"

namespace dfsim::inline study {

// Whether `split` is "auto" or a number of pieces from 2 to 64. Error: what was found instead.
Status check_split(const std::string& split);

// The comparison of the best way, with all ways in Comparison::splits. Errors: those of compare();
// a task graph, which has no operators to cut; no operator that can be cut, for a number of pieces.
StatusOr<ComparedProblem> compare_splits(const CompareRequest& request,
                                         const PolicyRegistry& registry, const Progress& progress);

}  // namespace dfsim::inline study
