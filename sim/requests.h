// Pipelines of requests: one graph run many times over, as a server does.
//
// Every request runs the same static plan, or has an online policy of its own. Under a plan devices
// take tasks of earlier requests first, and the host dispatches requests in the order of arrival;
// under policies both follow the decisions. Weights are resident once, tensors per request.
#pragma once

#include <string_view>

#include "base/status.h"
#include "schedulers/scheduler.h"
#include "sim/request_types.h"
#include "sim/simulator.h"

namespace dfsim::inline sim {

std::string_view arrival_kind_name(ArrivalKind kind);  // closed-loop, uniform, poisson

// Memory: as many copies of the run's state as requests are in flight at once.
// Errors: those of simulate(); kInvalidInput for no requests, a rate that is not positive, a
// warm-up as long as the run, or MemoryPolicy::kSpill (single runs only).
StatusOr<RequestResult> simulate_requests(const SimInput& input, const Schedule& schedule,
                                          const RequestOptions& requests,
                                          const SimOptions& options = {},
                                          SimListener* listener = nullptr);

// The same under online policies, one for each request in flight: made by `make_policy`, begun anew
// for every request. A policy sees the tasks and data of its own request, and the devices with what
// all of them have decided. At each instant the policy of the earliest request is asked first.
// Errors: as above, and those of simulate() under a policy.
StatusOr<RequestResult> simulate_requests(const SimInput& input, const MakePolicy& make_policy,
                                          const RequestOptions& requests,
                                          const SimOptions& options = {},
                                          SimListener* listener = nullptr);

}  // namespace dfsim::inline sim
