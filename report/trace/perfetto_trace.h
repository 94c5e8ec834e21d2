// A simulation as Perfetto's own format: track events in protobuf, for ui.perfetto.dev.
//
// The same tracks, slices, arrows and counters as ChromeTrace, in a fraction of its size: names are
// interned, and times are the distance from the event before. It is written as the simulation runs;
// only copies on engines, whose places are known afterwards, come at the end.
// Format: perfetto/trace/trace_packet.proto and track_event.proto, Google; field numbers never
// change there.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "report/trace/chrome_trace.h"

namespace dfsim::inline report {

class PerfettoTrace : public SimListener {
 public:
  // Receives the file piece by piece.
  using Sink = std::function<void(std::string_view)>;

  // After the run: writes what is left. Deterministic: the same run gives the same bytes.
  // O(events) in all.
  virtual void finish() = 0;

  // References in `subject` must outlive the collector.
  static std::unique_ptr<PerfettoTrace> create(const ChromeTrace::Subject& subject, Sink sink);
};

}  // namespace dfsim::inline report
