// Reads a trace that a profiler recorded, in any format that dfsim knows, and prints the device
// work that took most of the time.
//   device_time TRACE
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "datasets/traces/trace.h"
#include "datasets/traces/trace_reader.h"

namespace {

struct Total {
  double us = 0;
  size_t count = 0;
};

constexpr size_t kShown = 10;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: device_time TRACE\n");
    return 2;
  }
  const auto trace = dfsim::read_trace(argv[1]);
  if (!trace.ok()) {
    std::fprintf(stderr, "%s\n", trace.status().message().c_str());
    return 2;
  }
  std::map<std::string, Total> by_name;
  double sum_us = 0;
  for (const dfsim::Span& span : trace->spans) {
    if (dfsim::is_device_work(span.kind)) {
      Total& total = by_name[trace->text(span.name)];
      total.us += span.duration_us();
      ++total.count;
      sum_us += span.duration_us();
    }
  }
  std::vector<std::pair<std::string, Total>> largest(by_name.begin(), by_name.end());
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
  largest.resize(std::min(largest.size(), kShown));
  std::printf("%s: format %s, %zu spans, %.1f us of device work\n", argv[1], trace->format.c_str(),
              trace->spans.size(), sum_us);
  for (const auto& [name, total] : largest) {
    std::printf("%12.1f us %6zu x %s\n", total.us, total.count, name.substr(0, 60).c_str());
  }
  for (const dfsim::TraceWarning& warning : trace->warnings) {
    std::fprintf(stderr, "warning: %s (%lld)\n", warning.text.c_str(),
                 static_cast<long long>(warning.count));
  }
  return 0;
}
