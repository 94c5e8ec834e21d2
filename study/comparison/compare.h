// Compare: scheduling policies next to each other on one graph and machine, every plan simulated.
#pragma once

#include "base/status.h"
#include "schedulers/registry.h"
#include "study/comparison/compare_problem.h"
#include "study/progress.h"

namespace dfsim::inline study {

// `registry` has the policies to choose from and outlives the call. Errors: those of
// load_instance() and compare_policies(), unknown policies, and the first policy's where no policy
// gave a schedule.
StatusOr<ComparedProblem> compare(const CompareRequest& request, const PolicyRegistry& registry,
                                  const Progress& progress = {});

}  // namespace dfsim::inline study
