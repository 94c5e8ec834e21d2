// One reader of traces, whatever the bytes look like: DFSIM_TRACE_READER says which (the build
// makes a program for each). fuzz_trace tells the format from the content, as the program does.
#include <cstdint>
#include <string>
#include <string_view>

#include "datasets/traces/readers.h"
#include "tests/fuzz/trace_checks.h"

namespace dfsim {
namespace {

struct Reader {
  std::string_view name;
  StatusOr<Trace> (*read)(std::string content);
};

constexpr Reader kReaders[] = {
    {"chrome",
     [](std::string text) {
       return read_chrome_trace("fuzz", JsonStream::from_text("fuzz", std::move(text)));
     }},
    {"execution_trace",
     [](std::string text) {
       return read_execution_trace("fuzz", JsonStream::from_text("fuzz", std::move(text), "nodes"));
     }},
    {"chakra_json",
     [](std::string text) {
       return read_chakra_json("fuzz",
                               JsonStream::from_text("fuzz", std::move(text), "workload_graph"));
     }},
    {"chakra", [](std::string bytes) { return read_chakra_trace("fuzz", bytes); }},
    {"step_stats", [](std::string bytes) { return read_step_stats("fuzz", bytes); }},
    {"xplane", [](std::string bytes) { return read_xplane("fuzz", bytes); }},
    {"perfetto", [](std::string bytes) { return read_perfetto_trace("fuzz", bytes); }},
    {"nsys", [](std::string bytes) { return read_nsys_content("fuzz", std::move(bytes)); }},
    {"rocprof", [](std::string text) { return read_rocprof_trace("fuzz", std::move(text)); }},
};

const Reader& wanted() {
  for (const Reader& reader : kReaders) {
    if (reader.name == DFSIM_TRACE_READER) {
      return reader;
    }
  }
  std::abort();
}

}  // namespace
}  // namespace dfsim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const dfsim::Reader& reader = dfsim::wanted();
  dfsim::check_trace(reader.read(std::string(data, data + size)));
  return 0;
}
