// Compare: scheduling policies next to each other on one graph and machine, every plan simulated.
#pragma once

#include <string>

#include "base/status.h"
#include "schedulers/problem_instance.h"
#include "schedulers/registry.h"
#include "study/chain/model_source.h"
#include "study/chain/problem_source.h"
#include "study/comparison/comparison.h"
#include "study/progress.h"

namespace dfsim::inline study {

struct CompareRequest {
  std::string graph;   // path of a task graph or of a model
  ModelOptions model;  // how a model is imported; its path is `graph`
  MachineChoice machine;
  std::string policies = "all";  // those that take a graph of this size, or names and commas
  CompareOptions options;
  std::string split;  // of a model's operators: "", "auto" or a number of pieces
};

struct ComparedProblem {
  ProblemInstance problem;
  Comparison comparison;
};

// `registry` has the policies to choose from and outlives the call. Errors: those of
// load_instance() and compare_policies(), unknown policies, and the first policy's where no policy
// gave a schedule.
StatusOr<ComparedProblem> compare(const CompareRequest& request, const PolicyRegistry& registry,
                                  const Progress& progress = {});

// The same of a problem that is loaded already; `unknown` is the work of its model that is not
// known.
StatusOr<ComparedProblem> compare_loaded(const CompareRequest& request,
                                         const PolicyRegistry& registry, ProblemInstance problem,
                                         const UnknownWork& unknown, const Progress& progress);

}  // namespace dfsim::inline study
