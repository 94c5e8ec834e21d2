// CtfLaunchJoiner: joins device work with the call that launched it where a tracer records no
// correlation ids (cudaTracer, hcTracer, hipTracer).
//
// A device runs the work of a kind in the order of the calls, unless streams overtake each other.
// Work therefore belongs to the earliest call of its kind that nothing has been joined with and
// that began before it; among the calls that wait at the same time, one inside the operator that
// the work names comes first ("conv0" and "conv0/Conv2D"). Tracers write device work long after it
// ran, so the joiner waits for the end of the trace and goes by time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "datasets/traces/name_memo.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

class CtfLaunchJoiner {
 public:
  // A call without a correlation id begins inside an operator (none = inside none). Returns the id
  // that the call gets, or -1 when it launches nothing.
  int64_t call(const Trace& trace, NameId function, NameId op, double time_us);
  // Work that something else than a call puts into a queue. Counts where no call launches kernels.
  int64_t queued(NameId op, double time_us);
  // Device work without a correlation id, whose span will be the `span`-th. `op` is the operator
  // that it names, or its own name.
  void work(SpanKind kind, NameId op, double time_us, size_t span);
  // Writes the correlation ids of the work into its spans.
  void join(Trace* trace);

 private:
  struct Call {
    double time_us;
    int64_t correlation;
    NameId op;
    bool joined = false;
  };
  struct Work {
    double time_us;
    size_t span;
    NameId op;
  };

  static void join_kind(std::vector<Call>* calls, std::vector<Work>* works, Trace* trace);

  std::array<std::vector<Call>, 3> calls_;  // of kernels, copies, memsets
  std::array<std::vector<Work>, 3> works_;
  std::vector<Call> queued_;
  NameMemo<SpanKind> kinds_;         // that a call launches
  int64_t next_ = int64_t{1} << 48;  // above the ids of tracers
};

}  // namespace dfsim::inline datasets
