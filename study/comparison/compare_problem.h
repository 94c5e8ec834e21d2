// The question that `dfsim compare` gets, and the comparison of one problem.
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

// The same of a problem that is loaded already; `unknown` is the work of its model that is not
// known.
StatusOr<ComparedProblem> compare_loaded(const CompareRequest& request,
                                         const PolicyRegistry& registry, ProblemInstance problem,
                                         const UnknownWork& unknown, const Progress& progress);

}  // namespace dfsim::inline study
