// The registry of scheduling policies: names, factories, one line of description each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "schedulers/policy_options.h"
#include "schedulers/scheduler.h"

namespace dfsim::inline schedulers {

// When a policy decides: before the run, or when a task becomes ready.
enum class DecideWhen : uint8_t { kAhead, kReady };

// The things that a policy looks at to place one of n tasks with e edges on D devices; see
// decision_looks().
enum class DecisionWork : uint8_t {
  kNothing,  // a device in turn
  kTimes,    // the task's times
  kDevices,  // its finish on each device, and where its inputs are
  kTable,    // those, and a table of the future on each device
  kReaders,  // those of its readers for each choice of its device
  kPairs,    // those of all tasks that are ready
  kSearch,   // whole plans
};

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
  DecisionWork work = DecisionWork::kDevices;

  bool online() const { return make_online != nullptr; }
};

// Built-in policies in alphabetical order.
const std::vector<PolicyInfo>& builtin_policies();
// The list policies among them, deciding at the other time: "heft@ready", "donf@ahead".
const std::vector<PolicyInfo>& policy_variants();

// A set of policies to choose from: the built-in ones, and those of loaded plugins.
class PolicyRegistry {
 public:
  PolicyRegistry() : policies_(builtin_policies()) {}

  const std::vector<PolicyInfo>& policies() const { return policies_; }
  // A name; NAME@ahead and NAME@ready are the list policy that decides then. Error: kInvalidInput
  // with the valid names and the nearest, or when the policy cannot decide then.
  StatusOr<const PolicyInfo*> find(std::string_view name) const;
  // "all" (those within their task limit), or a comma-separated list of names, each once. `when`:
  // list policies named without a time decide then, the others as they do.
  StatusOr<std::vector<const PolicyInfo*>> select(
      std::string_view list, size_t tasks, std::optional<DecideWhen> when = std::nullopt) const;
  // Error: kInvalidInput when the name is taken or nothing makes it.
  Status add(PolicyInfo policy);

 private:
  std::vector<PolicyInfo> policies_;
};

// Plans with the policy; an online one runs on an ideal, contention-free machine (ideal_run.h).
StatusOr<Schedule> plan_with(const PolicyInfo& policy, const SchedulingProblem& problem,
                             const PolicyOptions& options = {});

}  // namespace dfsim::inline schedulers
