// TaskGraph: a scheduling problem read from a task-graph file or made by the generator: tasks, the
// data between them, and a time per task and device. How many devices there are, when the file does
// not say, and how they are joined is decided by who uses it (schedulers/problem_instance.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "graphs/ir/exec_graph.h"

namespace dfsim::inline graphs {

// Files without units are taken as written: one unit is this many nanoseconds inside, so that 80
// reads exactly 80 and a fraction keeps six digits.
inline constexpr TimeNs kNsPerFileUnit = kNsPerMs;

// The unit of the data between tasks.
enum class CommKind : uint8_t {
  kDelay,  // data_bytes are nanoseconds that the transfer takes between any two devices
  kBytes,  // data_bytes are bytes; the time depends on links
};

// The links between the devices of a file, one between each two: any number of transfers at a time
// and none slows another down, or one after the other in each direction.
enum class TaskGraphLinks : uint8_t { kFree, kFifo };

struct TaskGraphDevice {
  std::string name;
  Bytes memory_bytes = 0;  // 0 = not limited
};

// The work and the data of the tasks of a cost row, on any device: for formats that leave times to
// a cluster.
struct TaskDemand {
  double compute = 0;     // units of work
  double data_bytes = 0;  // moved to or from the device's memory at the same time
};

// Invariants: times_ns has cost_rows * columns() entries, each >= 0 or -1 ("cannot run there"), at
// least one >= 0 per row; all times and delays together stay below 2^62.
struct TaskGraph {
  std::string name;
  std::string format;  // "stg", "dot", "wfformat", "dax", "tripletrun", "json" or "generated"
  ExecGraph graph;
  std::vector<TaskGraphDevice> devices;  // empty: identical processors, times_ns has one column
  std::vector<TimeNs> times_ns;          // row-major: cost row, device
  std::vector<TaskDemand> demands;       // by cost row; empty for formats that give times
  CommKind comm = CommKind::kDelay;
  bool has_unit = false;   // times are real; otherwise one unit is kNsPerFileUnit
  double bytes_per_s = 0;  // link rate the file gives (kBytes), 0 = none
  TimeNs latency_ns = 0;   // added to each transfer
  TaskGraphLinks links = TaskGraphLinks::kFree;
  size_t suggested_devices = 0;  // machines the file names for identical processors, 0 = none

  size_t columns() const { return devices.empty() ? 1 : devices.size(); }
  size_t cost_rows() const { return times_ns.size() / columns(); }
};

// Reads STG, DOT with weights, WfFormat 1.5, DAX, TripletRun's or dfsim's own JSON
// (docs/reference/task-graphs.md); the format is recognised by content. Errors (kInvalidInput,
// kNotFound): "FILE:LINE: ..." where a line is to blame. Streams: memory is that of the resulting
// graph. O(tasks + edges) log(tasks).
StatusOr<TaskGraph> read_task_graph(const std::string& path);

// The same from memory; messages call it `path`.
StatusOr<TaskGraph> parse_task_graph(std::string_view content, const std::string& path);

// True when the file starts like one of the formats above (an unreadable file does not).
bool looks_like_task_graph(const std::string& path);

// The graph in dfsim's own JSON. Written in pieces: no copy of the text is kept. Error: kFailed.
Status write_task_graph(const TaskGraph& task_graph, const std::string& path);

}  // namespace dfsim::inline graphs
