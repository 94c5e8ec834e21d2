// Where requests come from: closed loops of users, random arrivals, traces. Streaming: a source
// holds what is in flight, never the whole workload.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "serving/workload/lengths.h"
#include "serving/workload/request.h"

namespace dfsim::inline serving {

// Requests in order of arrival. Deterministic: equal options and seeds give equal requests.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // When the next request arrives that is known so far; nullopt when none is: either all were
  // taken, or (closed loop) the next ones wait for finished(). Errors: a broken line of a trace.
  virtual StatusOr<std::optional<TimeNs>> peek() = 0;
  // The request that peek() spoke of. Only after a peek() that returned a time.
  virtual RequestSpec take() = 0;
  // The client of a request has received its last token at `now`. Open loops ignore it.
  virtual void finished(TimeNs now) { (void)now; }
};

// A closed loop, as benchmark clients run it with `--max-concurrency users`: all users send at
// once, and each sends its next request as soon as its last one is complete.
struct ClosedLoopOptions {
  int64_t users = 1;
  int64_t requests = 1;  // in all
  TimeNs think_ns = 0;   // mean time between a user's requests, exponentially distributed
  // Users start evenly over this time; 0: all at once.
  TimeNs ramp_ns = 0;
};

// Random arrivals at a mean rate. Times between arrivals are gamma distributed with shape
// `burstiness` (1: exponential, a Poisson process; below 1: bursts; above: more regular), as in
// vLLM's and BurstGPT's clients.
struct OpenLoopOptions {
  double requests_per_s = 1;
  double burstiness = 1;
  int64_t requests = 1;
};

// A beginning that prompts share: the first `tokens` of each prompt are those of its group, drawn
// uniformly from `groups`.
struct SharedPrefix {
  int64_t tokens = 0;
  int64_t groups = 1;
};

struct SyntheticLengths {
  LengthRange prompt;
  LengthRange output;
  SharedPrefix prefix;
};

// Errors (kInvalidInput): counts below 1, rates that are not positive and finite, a shared prefix
// longer than the shortest prompt.
StatusOr<std::unique_ptr<RequestSource>> make_closed_loop(const ClosedLoopOptions& options,
                                                          const SyntheticLengths& lengths,
                                                          uint64_t seed);
StatusOr<std::unique_ptr<RequestSource>> make_open_loop(const OpenLoopOptions& options,
                                                        const SyntheticLengths& lengths,
                                                        uint64_t seed);

// How a trace file is replayed.
struct TraceReplayOptions {
  std::string path;      // CSV or JSON Lines, plain or gzip
  double speedup = 1;    // 2: arrivals come twice as fast
  int64_t requests = 0;  // 0: all lines
};

// Replays a trace (trace_reader.h has the formats); reads as it goes. Errors: as there, and a
// speedup that is not positive.
StatusOr<std::unique_ptr<RequestSource>> make_replay(const TraceReplayOptions& options);

}  // namespace dfsim::inline serving
