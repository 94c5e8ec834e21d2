// CollectiveTiming: how long a communication library's calls take over some links, as measured and
// fitted. Data of a Platform; partition/collectives/collective_timings.h works with it.
#pragma once

#include <string>
#include <vector>

namespace dfsim::inline hardware {

// One of a library's ways to move data: with little latency at a fraction of the links' rate, or at
// the full rate after a longer start. A call takes start + steps * step + bytes / rate.
struct CollectiveProtocol {
  double start_ns = 0;
  double step_ns = 0;
  double bytes_per_s = 0;  // above 0
};

// The times of collectives among devices whose slowest route runs over links of these names. A call
// takes the least of its protocols.
struct CollectiveTiming {
  std::string over;                           // pattern of link names: "nvlink*"
  std::string operation;                      // one of collective_operations(); "" = any
  std::vector<CollectiveProtocol> protocols;  // at least one
  std::string source;                         // what is cited, in words
};

// all_reduce, reduce_scatter, all_gather, all_to_all, broadcast.
std::vector<std::string> collective_operations();

}  // namespace dfsim::inline hardware
