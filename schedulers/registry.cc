#include "schedulers/registry.h"

#include <algorithm>

#include "base/text.h"
#include "schedulers/ideal_run.h"
#include "schedulers/policies.h"

namespace dfsim::inline schedulers {
namespace {

constexpr const char* kTopcuoglu = "Topcuoglu, Hariri, Wu 2002, doi:10.1109/71.993206";
constexpr const char* kLin = "Lin, Li, Jia, Liu, An 2019, doi:10.1007/s11390-019-1962-4";
constexpr const char* kBaechi = "Jeon et al. 2020 (Baechi), doi:10.1145/3419111.3421302";

// The name that users give: hyphens where C++ has underscores.
std::string policy_name(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

std::vector<std::string> names_of(const std::vector<PolicyInfo>& policies) {
  std::vector<std::string> names;
  for (const PolicyInfo& policy : policies) {
    names.push_back(policy.name);
  }
  return names;
}

}  // namespace

const std::vector<PolicyInfo>& builtin_policies() {
  using namespace policies;
  static const std::vector<PolicyInfo> kPolicies = {
#define DFSIM_OFFLINE_POLICY(name, summary, citation, task_limit) \
  {policy_name(#name), summary, citation, make_##name, nullptr, task_limit},
#define DFSIM_ONLINE_POLICY(name, summary, citation) \
  {policy_name(#name), summary, citation, nullptr, make_##name, 0},
#include "schedulers/policies.inc"
#undef DFSIM_OFFLINE_POLICY
#undef DFSIM_ONLINE_POLICY
  };
  return kPolicies;
}

StatusOr<const PolicyInfo*> PolicyRegistry::find(std::string_view name) const {
  const auto found = std::ranges::find(policies_, name, &PolicyInfo::name);
  if (found == policies_.end()) {
    return invalid_input(unknown_name_message("policy", name, names_of(policies_)));
  }
  return &*found;
}

StatusOr<std::vector<const PolicyInfo*>> PolicyRegistry::select(std::string_view list,
                                                                size_t tasks) const {
  std::vector<const PolicyInfo*> selected;
  if (list == "all") {
    for (const PolicyInfo& policy : policies_) {
      if (policy.task_limit == 0 || tasks <= policy.task_limit) {
        selected.push_back(&policy);
      }
    }
    return selected;
  }
  for (const std::string& name : split(list, ',')) {
    DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* policy, find(name));
    if (std::ranges::find(selected, policy) == selected.end()) {
      selected.push_back(policy);
    }
  }
  return selected;
}

Status PolicyRegistry::add(PolicyInfo policy) {
  if (policy.name.empty() || policy.name == "all" ||
      (policy.make_static == nullptr) == (policy.make_online == nullptr)) {
    return invalid_input("a policy needs a name other than 'all' and exactly one way to make it");
  }
  if (std::ranges::find(policies_, policy.name, &PolicyInfo::name) != policies_.end()) {
    return invalid_input("there is already a policy '" + printable(policy.name) + "'");
  }
  policies_.push_back(std::move(policy));
  return ok_status();
}

StatusOr<Schedule> plan_with(const PolicyInfo& policy, const SchedulingProblem& problem,
                             const PolicyOptions& options) {
  if (policy.online()) {
    return ideal_run(problem, *policy.make_online(options));
  }
  return policy.make_static(options)->plan(problem);
}

}  // namespace dfsim::inline schedulers
