// Reads a trace of any known format, told from its content.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

struct TraceFormat {
  std::string_view name;
  std::string_view description;
};

// In the order of --help.
const std::vector<TraceFormat>& trace_formats();

// A file, plain or gzip, or the folder of a format that has folders. What could be repaired is
// counted in Trace::warnings. Errors: kNotFound; kInvalidInput when it is no trace, or holds not a
// single span. Memory: what the trace's spans need; of JSON the file itself is never held as a
// whole, of binary formats it is.
StatusOr<Trace> read_trace(const std::string& path);

// The same from a file's unpacked content, for tests and fuzzing. `name` stands for the path.
StatusOr<Trace> read_trace_content(const std::string& name, std::string content);

}  // namespace dfsim::inline datasets
