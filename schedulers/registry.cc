// The built-in policies come from policies.inc. A list policy appears with its variant that
// decides at the other time, under NAME@ahead or NAME@ready.
#include "schedulers/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "schedulers/ideal_run.h"
#include "schedulers/policies.h"

namespace dfsim::inline schedulers {
namespace {

constexpr const char* kTopcuoglu = "Topcuoglu, Hariri, Wu 2002, doi:10.1109/71.993206";
constexpr const char* kLin = "Lin, Li, Jia, Liu, An 2019, doi:10.1007/s11390-019-1962-4";
constexpr const char* kBaechi = "Jeon et al. 2020 (Baechi), doi:10.1145/3419111.3421302";

using StaticPtrMaker = decltype(PolicyInfo::make_static);
using OnlinePtrMaker = decltype(PolicyInfo::make_online);

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

constexpr std::string_view kAtAhead = "@ahead";
constexpr std::string_view kAtReady = "@ready";

std::string_view at(DecideWhen when) { return when == DecideWhen::kAhead ? kAtAhead : kAtReady; }

// The policy that decides at the other time, without its maker.
PolicyInfo variant_of(const std::string& name) {
  const auto& policies = builtin_policies();
  const auto base = std::ranges::find(policies, name, &PolicyInfo::name);
  DFSIM_CHECK(base != policies.end());
  PolicyInfo variant = *base;
  variant.name += base->online() ? kAtAhead : kAtReady;
  variant.summary += base->online() ? ", decided ahead" : ", decided when ready";
  variant.make_static = nullptr;
  variant.make_online = nullptr;
  return variant;
}

PolicyInfo ready_variant(const std::string& name, OnlinePtrMaker make) {
  PolicyInfo variant = variant_of(name);
  variant.make_online = std::move(make);
  return variant;
}

PolicyInfo ahead_variant(const std::string& name, StaticPtrMaker make) {
  PolicyInfo variant = variant_of(name);
  variant.make_static = std::move(make);
  return variant;
}

}  // namespace

const std::vector<PolicyInfo>& builtin_policies() {
  using namespace policies;
  static const std::vector<PolicyInfo> kPolicies = {
#define DFSIM_OFFLINE_POLICY(name, work, summary, citation, task_limit) \
  {policy_name(#name), summary, citation, make_##name, nullptr, task_limit, DecisionWork::work},
#define DFSIM_ONLINE_POLICY(name, work, summary, citation) \
  {policy_name(#name), summary, citation, nullptr, make_##name, 0, DecisionWork::work},
#include "schedulers/policies.inc"
#undef DFSIM_OFFLINE_POLICY
#undef DFSIM_ONLINE_POLICY
  };
  return kPolicies;
}

const std::vector<PolicyInfo>& policy_variants() {
  using namespace policies;
  static const std::vector<PolicyInfo> kVariants = {
#define DFSIM_READY_VARIANT(name) ready_variant(policy_name(#name), ready_##name),
#define DFSIM_AHEAD_VARIANT(name) ahead_variant(policy_name(#name), ahead_##name),
#include "schedulers/variants.inc"
#undef DFSIM_READY_VARIANT
#undef DFSIM_AHEAD_VARIANT
  };
  return kVariants;
}

StatusOr<const PolicyInfo*> PolicyRegistry::find(std::string_view name) const {
  const auto found = std::ranges::find(policies_, name, &PolicyInfo::name);
  if (found != policies_.end()) {
    return &*found;
  }
  const auto& variants = policy_variants();
  const auto variant = std::ranges::find(variants, name, &PolicyInfo::name);
  if (variant != variants.end()) {
    return &*variant;
  }
  if (!name.ends_with(kAtAhead) && !name.ends_with(kAtReady)) {
    return invalid_input(unknown_name_message("policy", name, names_of(policies_)));
  }
  DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* base, find(name.substr(0, name.rfind('@'))));
  if (base->online() == name.ends_with(kAtReady)) {
    return base;
  }
  return invalid_input(fmt::format("policy '{}': {} only decides {}; expected one of {}",
                                   printable(name), base->name,
                                   base->online() ? "when tasks become ready" : "ahead of the run",
                                   join(names_of(variants), ", ")));
}

StatusOr<std::vector<const PolicyInfo*>> PolicyRegistry::select(
    std::string_view list, size_t tasks, std::optional<DecideWhen> when) const {
  std::vector<const PolicyInfo*> selected;
  const auto add = [&](const PolicyInfo* policy) {
    if (when.has_value() && policy->online() != (*when == DecideWhen::kReady)) {
      const auto& variants = policy_variants();
      const std::string other = policy->name + std::string(at(*when));
      const auto variant = std::ranges::find(variants, other, &PolicyInfo::name);
      policy = variant == variants.end() ? policy : &*variant;
    }
    if (std::ranges::find(selected, policy) == selected.end()) {
      selected.push_back(policy);
    }
  };
  if (list == "all") {
    for (const PolicyInfo& policy : policies_) {
      if (policy.task_limit == 0 || tasks <= policy.task_limit) {
        add(&policy);
      }
    }
    return selected;
  }
  for (const std::string& name : split(list, ',')) {
    DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* policy, find(name));
    if (name.find('@') == std::string::npos) {
      add(policy);
    } else if (std::ranges::find(selected, policy) == selected.end()) {
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
