// Reads a trace of any known format, told from its content.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "datasets/traces/trace.h"
#include "datasets/traces/trace_window.h"

namespace dfsim::inline datasets {

struct TraceFormat {
  std::string_view name;
  std::string_view description;
};

// In the order of --help.
const std::vector<TraceFormat>& trace_formats();

// A file, plain or gzip, or the folder of a format that has folders. Trace::warnings counts the
// repairs. Errors: kNotFound; kInvalidInput when it is not a trace, or holds not a single span.
// Memory: what the trace's spans need; of JSON the file itself is never held as a whole, of binary
// formats it is. `progress` hears how many bytes of a JSON file have been read, of how many.
// Outside of `window` nothing is kept; kInvalidInput when no span begins in it.
StatusOr<Trace> read_trace(const std::string& path,
                           std::function<void(int64_t done, int64_t all)> progress = {},
                           const TraceWindow& window = {});

// The same from a file's unpacked content, for tests and fuzzing. `name` stands for the path.
StatusOr<Trace> read_trace_content(const std::string& name, std::string content);

}  // namespace dfsim::inline datasets
