// Traces: whatever bytes a file holds, reading and analysing it ends with a trace or one line. The
// corpus has a small file of each format; the first bytes say which reader it is for.
#include <cstdint>
#include <string>

#include "datasets/traces/trace_reader.h"
#include "tests/fuzz/trace_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dfsim::check_trace(dfsim::read_trace_content("fuzz", std::string(data, data + size)));
  return 0;
}
