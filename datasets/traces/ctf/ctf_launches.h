// CtfLaunchJoiner: joins device work with the call that launched it where a tracer records no
// correlation ids (cudaTracer, hcTracer).
//
// A device runs the work of a kind in the order of the calls, unless streams overtake each other.
// Work therefore belongs to the earliest call of its kind that nothing has been joined with; among
// calls that wait at the same time, one whose operator is named like the kernel comes first
// ("conv0" and "conv0/Conv2D").
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

class CtfLaunchJoiner {
 public:
  // A call without a correlation id begins inside an operator ("" = inside none). Returns the id
  // that the call gets, or -1 when it launches nothing.
  int64_t call(std::string_view function, std::string_view op, double time_us);
  // Device work without a correlation id begins. Returns its call's id, -1 when no call waits.
  int64_t work(SpanKind kind, std::string_view name, double time_us);

 private:
  struct Waiting {
    int64_t correlation;
    double time_us;
    std::string op;
  };

  static int slot_of(SpanKind kind);

  std::array<std::deque<Waiting>, 3> waiting_;  // of kernels, copies, memsets
  int64_t next_ = int64_t{1} << 48;             // above the ids of tracers
};

}  // namespace dfsim::inline datasets
