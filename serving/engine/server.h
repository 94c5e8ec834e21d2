// A server of one model: replicas, a router in front of them, and the links between prefill and
// decode replicas when the two are apart. Runs a workload to its end on one clock.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "serving/engine/replica.h"
#include "serving/workload/request_source.h"

namespace dfsim::inline serving {

// The link that the cache of a prompt crosses from its prefill replica to its decode replica.
struct CacheLink {
  double bytes_per_s = 0;
  double latency_us = 0;
  double bytes_per_token = 0;  // of cache, over all GPUs of a replica
};

struct ServerOptions {
  // All aggregated, or prefill and decode ones. A replica with pipeline stages is one entry for
  // each batch in flight, all with one number below replicas.size() as their `pipeline`; one with
  // data-parallel ranks is one entry for each of them.
  std::vector<ReplicaOptions> replicas;
  CacheLink link;                  // for disaggregated servers
  int64_t max_request_tokens = 0;  // prompt + output of one request; 0: what the cache holds
  // More requests than this waiting: the server is overloaded, the simulation ends there.
  int64_t max_waiting = 100'000;
};

struct ServerResult {
  TimeNs end_ns = 0;
  int64_t arrived = 0;
  int64_t rejected = 0;  // longer than a request may be
  bool overloaded = false;
  int64_t waiting_at_last_arrival = 0;
  int64_t preemptions = 0;
  int64_t transfers = 0;
  TimeNs frontend_busy_ns = 0;
  int64_t frontends = 1;
};

// Requests done, of `total` where that is known (0 = it is not); false cancels.
using ServerProgress = std::function<bool(int64_t done, int64_t total)>;

// `costs` has one table per replica (they may be the same object) and, like `listener`, hears of
// everything. Requests are routed to the replica with the fewest in flight, the lowest index first.
// Errors: the cost model's, a policy's, a trace's; kInvalidInput when no request can be served at
// all; kFailed when cancelled.
StatusOr<ServerResult> run_server(const ServerOptions& options, RequestSource& source,
                                  const std::vector<StepTable*>& costs, ReplicaListener* listener,
                                  const ServerProgress& progress = {});

}  // namespace dfsim::inline serving
