// The processors that this process may use, with their cores and NUMA nodes, and where copies of a
// program are placed on them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace dfsim::inline study {

struct Cpu {
  int id = 0;    // as the kernel counts
  int core = 0;  // processors of one core share it
  int node = 0;  // NUMA node
};

// In order of node, core and number; never empty. A processor about which the kernel says nothing
// is a core of its own on node 0.
std::vector<Cpu> usable_cpus();
int cores_of(const std::vector<Cpu>& cpus);
int nodes_of(const std::vector<Cpu>& cpus);

// The names of placements: free (the kernel decides), compact (neighbouring processors), spread
// (cores of all nodes in turn, one thread per core first), node (each process on one NUMA node).
const std::vector<std::string>& placement_names();

// Per process, the processors that it may use; an empty list leaves it to the kernel. Error: an
// unknown placement, with the nearest one.
StatusOr<std::vector<std::vector<int>>> place_processes(const std::vector<Cpu>& cpus,
                                                        const std::string& placement, int processes,
                                                        int threads);

}  // namespace dfsim::inline study
