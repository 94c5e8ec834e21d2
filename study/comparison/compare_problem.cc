#include "study/comparison/compare_problem.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "study/comparison/drawn_runs.h"

namespace dfsim::inline study {
namespace {

// Fails when no policy had a result: there is nothing to compare.
Status check_any_result(const Comparison& comparison) {
  if (comparison.policies.empty() || comparison.policies.front().status.ok()) {
    return ok_status();
  }
  const PolicyOutcome& first = comparison.policies.front();
  return Status(first.status.code(),
                fmt::format("{}: no policy gave a schedule; {}: {}", printable(comparison.graph),
                            first.name, first.status.message()));
}

}  // namespace

StatusOr<ComparedProblem> compare_loaded(const CompareRequest& request,
                                         const PolicyRegistry& registry, ProblemInstance problem,
                                         const UnknownWork& unknown, const Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(
      const std::vector<const PolicyInfo*> policies,
      registry.select(request.policies, problem.graph.task_count(), request.options.decide));
  if (request.options.noise.runs > 0) {
    if (Status status = add_noise(problem, request.options.noise); !status.ok()) {
      return status.with_place(request.graph);
    }
  }
  auto compared = compare_policies(problem, policies, request.options, progress);
  if (!compared.ok()) {
    return compared.status().with_place(request.graph);
  }
  compared->unknown = unknown;
  compared->allow_incomplete = request.model.allow_incomplete;
  DFSIM_RETURN_IF_ERROR(check_any_result(*compared));
  return ComparedProblem{std::move(problem), std::move(*compared)};
}

}  // namespace dfsim::inline study
