// The registry of scheduling policies: names, factories, one line of description each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "schedulers/policy_options.h"
#include "schedulers/scheduler.h"

namespace dfsim::inline schedulers {

struct PolicyInfo {
  std::string name;
  std::string summary;   // one line
  std::string citation;  // authors, year, DOI; "" for baselines
  // Exactly one is set.
  std::function<std::unique_ptr<StaticScheduler>(const PolicyOptions&)> make_static;
  std::function<std::unique_ptr<OnlineScheduler>(const PolicyOptions&)> make_online;
  // Cost grows faster than (tasks + edges) log tasks * devices: left out of "all" above this many
  // tasks. 0 = no limit.
  size_t task_limit = 0;

  bool online() const { return make_online != nullptr; }
};

// Built-in policies in alphabetical order.
const std::vector<PolicyInfo>& builtin_policies();

// A set of policies to choose from: the built-in ones, and those of loaded plugins.
class PolicyRegistry {
 public:
  PolicyRegistry() : policies_(builtin_policies()) {}

  const std::vector<PolicyInfo>& policies() const { return policies_; }
  // Error: kInvalidInput with the valid names and the nearest.
  StatusOr<const PolicyInfo*> find(std::string_view name) const;
  // "all" (those within their task limit), or a comma-separated list of names, each once.
  StatusOr<std::vector<const PolicyInfo*>> select(std::string_view list, size_t tasks) const;
  // Error: kInvalidInput when the name is taken or nothing makes it.
  Status add(PolicyInfo policy);

 private:
  std::vector<PolicyInfo> policies_;
};

// Plans with the policy; an online one runs on an ideal, contention-free machine (ideal_run.h).
StatusOr<Schedule> plan_with(const PolicyInfo& policy, const SchedulingProblem& problem,
                             const PolicyOptions& options = {});

}  // namespace dfsim::inline schedulers
