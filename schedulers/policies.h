// Factories of the built-in policies; policies.inc and variants.inc have a line for each.
#pragma once

#include <memory>

#include "schedulers/policy_options.h"
#include "schedulers/scheduler.h"

namespace dfsim::inline schedulers::policies {

using StaticPtr = std::unique_ptr<StaticScheduler>;
using OnlinePtr = std::unique_ptr<OnlineScheduler>;

#define DFSIM_OFFLINE_POLICY(name, work, summary, citation, task_limit) \
  StaticPtr make_##name(const PolicyOptions& options);
#define DFSIM_ONLINE_POLICY(name, work, summary, citation) \
  OnlinePtr make_##name(const PolicyOptions& options);
#include "schedulers/policies.inc"
#undef DFSIM_OFFLINE_POLICY
#undef DFSIM_ONLINE_POLICY

#define DFSIM_READY_VARIANT(name) OnlinePtr ready_##name(const PolicyOptions& options);
#define DFSIM_AHEAD_VARIANT(name) StaticPtr ahead_##name(const PolicyOptions& options);
#include "schedulers/variants.inc"
#undef DFSIM_READY_VARIANT
#undef DFSIM_AHEAD_VARIANT

}  // namespace dfsim::inline schedulers::policies
