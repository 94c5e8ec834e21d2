// Pipelines of requests: one graph run many times over, as a server does.
//
// Every request runs the same static plan, or has an online policy of its own. Under a plan devices
// take tasks of earlier requests first, and the host dispatches requests in the order of arrival;
// under policies both follow the decisions. Weights are resident once, tensors per request.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "schedulers/scheduler.h"
#include "sim/simulator.h"

namespace dfsim::inline sim {

enum class ArrivalKind : uint8_t {
  kClosedLoop,  // `in_flight` at a time: the next one comes when one is done
  kUniform,     // evenly spaced, `requests_per_s`
  kPoisson,     // exponential gaps, `requests_per_s` on average
};

std::string_view arrival_kind_name(ArrivalKind kind);  // closed-loop, uniform, poisson

struct RequestOptions {
  size_t requests = 100;
  ArrivalKind arrivals = ArrivalKind::kClosedLoop;
  size_t in_flight = 1;
  double requests_per_s = 0;
  uint64_t seed = 0;
  // Left out of throughput and latencies: the pipeline fills up in the meantime.
  size_t warm_up = 0;
};

struct RequestRecord {
  TimeNs arrival_ns = 0;
  TimeNs finish_ns = 0;
};

struct RequestResult {
  SimResult run;  // without tasks; sums are over all requests
  std::vector<RequestRecord> requests;
  // Requests done per second, from the end of the warm-up (or the start) to the last one's finish.
  double throughput_per_s = 0;
  double mean_latency_ns = 0;
  // Nearest-rank percentiles of finish - arrival.
  TimeNs p50_ns = 0;
  TimeNs p90_ns = 0;
  TimeNs p95_ns = 0;
  TimeNs p99_ns = 0;
  TimeNs max_ns = 0;
};

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
