// Options and results of pipelines of requests (sim/requests.h), apart from the functions that run
// them: parts of the engine need only these.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "sim/simulation.h"

namespace dfsim::inline sim {

enum class ArrivalKind : uint8_t {
  kClosedLoop,  // `in_flight` at a time: the next one comes when one is done
  kUniform,     // evenly spaced, `requests_per_s`
  kPoisson,     // exponential gaps, `requests_per_s` on average
};

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

}  // namespace dfsim::inline sim
