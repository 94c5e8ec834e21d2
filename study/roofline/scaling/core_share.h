// The part of a CPU that copies of a model get: cores, and the bandwidth that their placement on
// NUMA nodes lets them draw.
//
// With N nodes of bandwidth b and links of L per direction between two nodes, a copy whose threads
// run on k of them finds (k - 1) / k of its pages on another node, evenly: pages are where a thread
// touched them first, and each thread reads all of them. Each of the k (k - 1) directed links
// between these nodes then carries 1 / k^2 of the traffic. Where u copies run on a node, a copy
// draws at most k b / u from the memories and k^2 L / u over the links. The greater latency of the
// other node's memory does not count. Units: bytes per second.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "hardware/memory_levels.h"
#include "hardware/platform.h"

namespace dfsim::inline study {

// Copies of a model with as many threads each. `inter` operators of a copy run at once, each with
// `threads` threads.
struct CoreShare {
  int64_t threads = 1;
  int64_t processes = 1;
  int64_t inter = 1;
  NumaNodes numa{};
  std::string placement = "free";  // as place_processes() names them
  // Operators of a copy that share its bandwidth, in the mean; 1 to `inter`.
  double at_once = 1;

  int64_t cores_each() const { return threads * inter; }
  int64_t cores() const { return cores_each() * processes; }
};

// A copy on its nodes.
struct NodeShare {
  int64_t nodes = 1;   // that its threads run on
  int64_t copies = 1;  // that share each of these nodes, at most
  double remote = 0;   // share of its traffic to another node than its thread's
};

// Where the copies run: "free" on all nodes, for the kernel moves threads but not pages; "compact"
// on neighbouring cores (of the copy on most nodes); "spread" on the nodes in turn; "node" each on
// one. Errors (kInvalidInput): an unknown placement; more threads than the cores, or those of a
// node.
StatusOr<NodeShare> node_share(const DeviceSpec& device, const CoreShare& share);

// The bandwidth of a copy whose cores draw at most `core_bytes_per_s` each. `share` is one that
// node_share() takes.
double copy_bytes_per_s(const DeviceSpec& device, const CoreShare& share, double core_bytes_per_s);

// The threads of a copy when nothing says how many: all cores divided among copies and operators at
// once, at most those of a node for "node"; at least 1.
int64_t threads_of_share(const DeviceSpec& device, const CoreShare& share);

}  // namespace dfsim::inline study
