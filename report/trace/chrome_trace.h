// A simulation as a Chrome trace (JSON), which Perfetto and chrome://tracing open.
//
// Processes are devices (and the links between them), threads are queues, copy engines and links.
// Slices are ops, and copies on the engines of accelerators at their ends and on the links between;
// flow arrows go from the producer of a tensor to its readers; counters show memory. Format: "Trace
// Event Format", Google, 2016.
#pragma once

#include <memory>
#include <string>

#include "sim/listener.h"
#include "study/chain/run_recorder.h"

namespace dfsim::inline report {

// Attach to the run, then take the file's text. References must outlive the collector.
class ChromeTrace : public SimListener {
 public:
  using Subject = RunSubject;

  // Deterministic: the same run gives the same bytes. O(events).
  virtual std::string finish() = 0;

  static std::unique_ptr<ChromeTrace> create(const Subject& subject);
};

}  // namespace dfsim::inline report
