// The critical path of a recorded run: the chain of host and device work whose durations add up to
// most.
//
// After HolisticTraceAnalysis (Meta, 2023): every operator, runtime call and piece of device work
// is two nodes, its begin and end. Host spans of a thread are chained as they nest; a thread's
// top-level operators follow each other without weight, so that what the program does between them
// does not count. Calls that only wait for the device have no weight of their own: the device's
// work that they wait for has. Device work follows its launch when nothing was outstanding in its
// queue at the launch nor when it begins (the delay counts as launch overhead), else the work
// before it in the queue (the gap counts as kernel gap) unless that ended more than 1.5 ms ago;
// waits for events and streams are edges without weight.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "datasets/traces/trace.h"

namespace dfsim::inline study {

enum class PathClass : uint8_t {
  kHost,
  kCompute,
  kCommunication,
  kData,  // copies and memsets
  kLaunch,
  kKernelGap,
  // Only find_replay_path() has these; find_trace_path() counts calls as host and no gaps of the
  // host.
  kCall,     // of the device's runtime: launches, allocations, rests of waits
  kHostGap,  // a host thread between its operators
};
inline constexpr int kPathClassCount = static_cast<int>(PathClass::kHostGap) + 1;
std::string_view path_class_name(PathClass path_class);

struct TracePath {
  double length_us = 0;
  std::array<double, kPathClassCount> class_us{};
  std::vector<SpanId> spans;      // in the order of the path, each once
  std::vector<double> weight_us;  // of each of them: what it adds to the length
  int64_t edges = 0;
};

// Empty (length 0, no spans) for a trace without operators and device work. O(n log n).
TracePath find_trace_path(const Trace& trace);

}  // namespace dfsim::inline study
