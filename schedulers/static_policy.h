// The short way to write a static policy: one function from a checked, non-empty problem to a plan.
#pragma once

#include <memory>
#include <string_view>

#include "schedulers/planning/plan_builder.h"
#include "schedulers/planning/task_view.h"
#include "schedulers/policies.h"

namespace dfsim::inline schedulers::policies {

using PlanFunction = StatusOr<Schedule> (*)(const TaskView& view);

// A scheduler that checks the problem, answers the empty graph itself, and calls `plan`.
StaticPtr static_policy(std::string_view name, PlanFunction plan);

}  // namespace dfsim::inline schedulers::policies
