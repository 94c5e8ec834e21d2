// libbabeltrace2, which reads the Common Trace Format. It believes its input: damaged metadata
// makes it leak, divide by zero or worse, so that it runs in a process of its own (ctf_events.cc).
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "datasets/traces/ctf/ctf_event.h"

namespace dfsim::inline datasets {

// As read_ctf_events(), in this process.
StatusOr<CtfSummary> read_with_library(const std::string& folder,
                                       const std::function<void(const CtfEvent&)>& on_event);

}  // namespace dfsim::inline datasets
