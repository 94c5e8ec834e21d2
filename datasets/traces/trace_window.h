// A part of a trace: what begins in a window of time.
//
// Purpose: recorders run for hours, and an analysis of all of it may not fit into memory. A reader
//   that meets its events in order of time drops the others at once (CTF); of the other formats the
//   whole trace is read and then cut.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

#include "base/status.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

// Spans that a reader of a format without end keeps, about 6 GB with all of an analysis. It reads
// no more, and warns.
inline constexpr size_t kMostSpans = 16'000'000;

// Microseconds after the trace's first span; of CTF, after the first event that is read. Others may
// be earlier (those of another part, or with a time of their own): a window from 0 holds them, too.
struct TraceWindow {
  double from_us = 0;
  double to_us = std::numeric_limits<double>::infinity();
  size_t most_spans = kMostSpans;

  bool whole() const { return from_us <= 0 && to_us == std::numeric_limits<double>::infinity(); }
  bool holds(double us) const { return (from_us <= 0 || us >= from_us) && us < to_us; }
};

// "FROM,TO" in seconds; either may be left out ("10," or ",10"), and "" is the whole trace. Error
// (kInvalidInput): neither numbers from 0 on, nor FROM below TO.
StatusOr<TraceWindow> parse_window(std::string_view text);

// Keeps what begins in the window; links to dropped spans are gone. Error (kInvalidInput): no span
// begins there. O(trace).
Status cut_trace(const TraceWindow& window, Trace* trace);

}  // namespace dfsim::inline datasets
