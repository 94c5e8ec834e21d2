// One comparison of a loaded problem: chooses policies, adds noise, runs, and checks that any
// policy had a result.
#include "study/comparison/compare_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "study/comparison/drawn_runs.h"
#include "study/machines/explain_machine.h"

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

// The problem, and the policies that `all` leaves out because they take too long on so many tasks.
void explain_problem(const ProblemInstance& problem, const std::vector<const PolicyInfo*>& policies,
                     const PolicyRegistry& registry, const Progress& progress) {
  if (!progress.explains()) {
    return;
  }
  progress.decide("problem", {{"graph", problem.graph_name},
                              {"tasks", std::to_string(problem.graph.task_count())},
                              {"edges", std::to_string(problem.graph.edge_count())},
                              {"devices", std::to_string(problem.platform.devices.size())},
                              {"costs", problem.cost_model.empty() ? "given" : "modelled"}});
  std::vector<std::string> left_out;
  for (const PolicyInfo& policy : registry.policies()) {
    if (std::ranges::find(policies, policy.name, &PolicyInfo::name) == policies.end()) {
      left_out.emplace_back(policy.name);
    }
  }
  progress.decide("policies", {{"run", std::to_string(policies.size())},
                               {"left_out", left_out.empty() ? "none" : join(left_out, ",")}});
}

}  // namespace

StatusOr<ComparedProblem> compare_loaded(const CompareRequest& request,
                                         const PolicyRegistry& registry, ProblemInstance problem,
                                         const UnknownWork& unknown, const Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(
      const std::vector<const PolicyInfo*> policies,
      registry.select(request.policies, problem.graph.task_count(), request.options.decide));
  if (!problem.cost_model.empty()) {
    explain_machine(problem.platform, problem.cost_model, progress);
  }
  explain_problem(problem, policies, registry, progress);
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
