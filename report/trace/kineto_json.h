// Traces in the form that PyTorch's profiler writes.
#pragma once

#include <string>

#include "datasets/traces/trace.h"

namespace dfsim::inline report {

// In the form that PyTorch's profiler writes, which read_trace() and other tools read.
std::string kineto_json(const Trace& trace);

}  // namespace dfsim::inline report
