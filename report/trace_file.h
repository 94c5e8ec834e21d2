// The timeline of a simulation, written to a file: JSON of the Trace Event Format, or Perfetto's
// own protobuf where the name ends in ".pftrace" or ".perfetto-trace" (with or without ".gz").
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "report/chrome_trace.h"

namespace dfsim::inline report {

// Help texts of --trace.
inline constexpr std::string_view kTraceFileHelp =
    "for Perfetto or chrome://tracing: JSON, or Perfetto's own format (a fraction of the size) "
    "when its name ends in .pftrace";

class TraceFile {
 public:
  // References in `subject` must outlive it. Error (kFailed): the file cannot be written.
  static StatusOr<std::unique_ptr<TraceFile>> open(const std::string& path,
                                                   const ChromeTrace::Subject& subject);
  virtual ~TraceFile() = default;

  // To attach to the run.
  virtual SimListener* listener() = 0;
  // After the run. Without it nothing is left behind. Error (kFailed): the disk is full and the
  // like.
  virtual Status close() = 0;
};

}  // namespace dfsim::inline report
