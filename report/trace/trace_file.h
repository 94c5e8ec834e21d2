// The timeline of a simulation, written to a file: JSON of the Trace Event Format, or Perfetto's
// own protobuf where the name ends in ".pftrace" or ".perfetto-trace" (with or without ".gz").
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "study/chain/run_recorder.h"

namespace dfsim::inline report {

// Help texts of --trace.
inline constexpr std::string_view kTraceFileHelp =
    "for Perfetto or chrome://tracing: JSON, or Perfetto's own format (a fraction of the size) "
    "when its name ends in .pftrace";

// Whether the name asks for Perfetto's own format.
bool is_perfetto_file(std::string_view path);

// References in `subject` must outlive the recorder. Nothing is left behind by one that is not
// closed. Error (kFailed), also of close(): the file cannot be written.
StatusOr<std::unique_ptr<RunRecorder>> open_trace_file(const std::string& path,
                                                       const RunSubject& subject);

// Writes the study's run to `path`; an empty function for no path.
MakeRecorder trace_recorder(const std::string& path);

// Writes FOLDER/GRAPH.POLICY.json (or .pftrace) for each policy that is compared,
// GRAPH.MACHINE.POLICY with `names_machines`; makes the folder with the first. An empty function
// for no folder.
MakeRecorder trace_folder_recorder(const std::string& folder, bool names_machines, bool perfetto);

}  // namespace dfsim::inline report
