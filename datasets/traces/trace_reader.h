// Reads a trace of any known format, told from its content.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "datasets/traces/json_stream.h"
#include "datasets/traces/trace.h"

namespace dfsim {

struct TraceFormat {
  std::string_view name;
  std::string_view description;
};

// In the order of --help.
const std::vector<TraceFormat>& trace_formats();

// Plain or gzip. What could be repaired is counted in Trace::warnings. Errors: kNotFound;
// kInvalidInput when the file is no trace, or holds not a single span. Memory: what the trace's
// spans need; the file itself is never held as a whole.
StatusOr<Trace> read_trace(const std::string& path);

// A result of rocprofv3; held as a whole while it is read.
StatusOr<Trace> read_rocprof_trace(const std::string& path);

// The Chrome family from an open stream.
StatusOr<Trace> read_chrome_trace(const std::string& path, JsonStream stream);

}  // namespace dfsim
