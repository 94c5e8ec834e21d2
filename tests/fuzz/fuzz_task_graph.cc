// libFuzzer target of the readers of task graphs (STG, DOT, WfFormat, DAX, TripletRun's and dfsim's
// JSON) and of TripletRun's clusters: no input may crash, hang or grow memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "graphs/taskgraph/task_graph.h"
#include "graphs/taskgraph/triplet_cluster.h"

namespace {

void expect(bool promise) {
  if (!promise) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cluster = dfsim::parse_triplet_cluster(text, "fuzz");
  if (cluster.ok()) {
    expect(!cluster->devices.empty() && cluster->bytes_per_s(0, 0) >= 0);
  } else {
    expect(cluster.status().message().starts_with("fuzz:"));
  }
  const auto task_graph = dfsim::parse_task_graph(text, "fuzz");
  if (!task_graph.ok()) {
    expect(task_graph.status().message().starts_with("fuzz:"));
    expect(task_graph.status().message().find('\n') == std::string::npos);
    return 0;
  }
  expect(task_graph->times_ns.size() == task_graph->cost_rows() * task_graph->columns());
  for (const dfsim::Edge& edge : task_graph->graph.edges()) {
    expect(task_graph->graph.data_bytes(edge.data) >= 0);
  }
  for (const dfsim::TimeNs time : task_graph->times_ns) {
    expect(time >= -1);
  }
  return 0;
}
