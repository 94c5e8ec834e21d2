// The events of a trace in the Common Trace Format 1.8 (LTTng and others), one by one in the order
// of time. libbabeltrace2 reads them in a process of its own.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "datasets/traces/ctf/ctf_event.h"

namespace dfsim::inline datasets {

// Reads the trace of one folder (with a file "metadata") until `on_event` says false. Errors:
// kInvalidInput (not a single event can be read, as a message without the folder's name), kFailed
// (no process can be made).
StatusOr<CtfSummary> read_ctf_events(const std::string& folder,
                                     const std::function<bool(const CtfEvent&)>& on_event);

}  // namespace dfsim::inline datasets
