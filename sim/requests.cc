// Arrivals of requests, and the two ways to run them: one plan for all, or a policy per request.
// Requests of the warm-up count neither in the latencies nor in the throughput, whose clock
// starts when the last of them ends.
#include "sim/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/rng.h"
#include "sim/engine/engine.h"
#include "sim/percentile.h"

namespace dfsim::inline sim {

namespace {

Status check(const RequestOptions& options) {
  constexpr size_t kMostRequests = std::numeric_limits<uint32_t>::max() - 1;
  if (options.requests == 0 || options.requests > kMostRequests) {
    return invalid_input(
        fmt::format("requests: {}; expected 1 to {}", options.requests, kMostRequests));
  }
  if (options.warm_up >= options.requests) {
    return invalid_input(fmt::format("warm-up of {} requests out of {}; leave at least one over",
                                     options.warm_up, options.requests));
  }
  const bool closed = options.arrivals == ArrivalKind::kClosedLoop;
  if (closed && options.in_flight == 0) {
    return invalid_input("requests in flight: 0; expected 1 or more");
  }
  if (!closed && !(options.requests_per_s > 0 && std::isfinite(options.requests_per_s))) {
    return invalid_input(
        fmt::format("requests per second: {}; expected a positive number", options.requests_per_s));
  }
  return ok_status();
}

StatusOr<std::vector<TimeNs>> arrivals(const RequestOptions& options) {
  std::vector<TimeNs> times;
  if (options.arrivals == ArrivalKind::kClosedLoop) {
    return times;
  }
  Rng rng(options.seed);
  const double gap_ns = 1e9 / options.requests_per_s;
  double time_ns = 0;
  for (size_t r = 0; r < options.requests; ++r) {
    constexpr double kMost = 4e18;
    if (!(time_ns < kMost)) {
      return invalid_input(fmt::format("{} requests at {} per second take longer than the clock",
                                       options.requests, options.requests_per_s));
    }
    times.push_back(static_cast<TimeNs>(time_ns + 0.5));
    time_ns = options.arrivals == ArrivalKind::kUniform
                  ? static_cast<double>(r + 1) * gap_ns
                  : time_ns - gap_ns * std::log1p(-rng.uniform());
  }
  return times;
}

void summarise(const RequestOptions& options, RequestResult& result) {
  std::vector<TimeNs> latencies;
  std::vector<TimeNs> finishes;
  double sum_ns = 0;
  for (size_t r = 0; r < result.requests.size(); ++r) {
    finishes.push_back(result.requests[r].finish_ns);
    if (r >= options.warm_up) {
      latencies.push_back(result.requests[r].finish_ns - result.requests[r].arrival_ns);
      sum_ns += static_cast<double>(latencies.back());
    }
  }
  std::sort(latencies.begin(), latencies.end());
  std::sort(finishes.begin(), finishes.end());
  const TimeNs begin = options.warm_up == 0 ? 0 : finishes[options.warm_up - 1];
  const TimeNs span = finishes.back() - begin;
  const auto counted = static_cast<double>(latencies.size());
  result.throughput_per_s = span > 0 ? counted * 1e9 / static_cast<double>(span) : 0;
  result.mean_latency_ns = sum_ns / counted;
  result.p50_ns = percentile(latencies, 50);
  result.p90_ns = percentile(latencies, 90);
  result.p95_ns = percentile(latencies, 95);
  result.p99_ns = percentile(latencies, 99);
  result.max_ns = latencies.back();
}

// `what`: a plan or a maker of policies.
template <typename What>
StatusOr<RequestResult> run_requests(const SimInput& input, const What& what,
                                     const RequestOptions& requests, const SimOptions& options,
                                     SimListener* listener) {
  DFSIM_RETURN_IF_ERROR(check(requests));
  RunMode mode;
  mode.requests.requests = requests.requests;
  mode.requests.in_flight = std::min(requests.in_flight, requests.requests);
  DFSIM_ASSIGN_OR_RETURN(mode.requests.arrivals_ns, arrivals(requests));
  DFSIM_ASSIGN_OR_RETURN(EngineResult engine, run_engine({input, options, mode, listener}, what));
  RequestResult result;
  result.run = std::move(engine.run);
  result.run.tasks.clear();
  result.requests = std::move(engine.requests);
  summarise(requests, result);
  return result;
}

}  // namespace

std::string_view arrival_kind_name(ArrivalKind kind) {
  switch (kind) {
    case ArrivalKind::kClosedLoop:
      return "closed-loop";
    case ArrivalKind::kUniform:
      return "uniform";
    case ArrivalKind::kPoisson:
      return "poisson";
  }
  return "";
}

StatusOr<RequestResult> simulate_requests(const SimInput& input, const Schedule& schedule,
                                          const RequestOptions& requests, const SimOptions& options,
                                          SimListener* listener) {
  return run_requests(input, schedule, requests, options, listener);
}

StatusOr<RequestResult> simulate_requests(const SimInput& input, const MakePolicy& make_policy,
                                          const RequestOptions& requests, const SimOptions& options,
                                          SimListener* listener) {
  return run_requests(input, make_policy, requests, options, listener);
}

}  // namespace dfsim::inline sim
