// Routes between the nodes of a platform: which links a transfer crosses.
//
// Nodes are the devices (node i is device i), the host's memory, and the switches. Traffic passes
// through switches, the host and CPUs, never through other accelerators. A route is the cheapest
// chain of links for a transfer of 1 MiB (latencies and serialisation added up per hop); ties go to
// fewer hops, then to the earlier link of the file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "hardware/platform.h"

namespace dfsim::inline hardware {

// One link of a route; a link of a half-duplex medium is the same resource in both directions.
struct Hop {
  LinkId link;
  bool reversed = false;  // travelled from `to` to `from`
};

// Time to put `bytes` on a wire, rounded to nearest and bounded so that sums cannot overflow.
inline TimeNs occupancy_ns(double ns_per_byte, Bytes bytes) {
  constexpr double kMost = 1e18;
  return static_cast<TimeNs>(std::min(static_cast<double>(bytes) * ns_per_byte, kMost) + 0.5);
}

struct Route {
  std::vector<Hop> hops;
  TimeNs latency_ns = 0;   // sum over the hops
  double ns_per_byte = 0;  // of the slowest hop
  bool reachable = false;

  // Time of the transfer when nothing else moves; 0 bytes take no time at all (pure ordering).
  TimeNs idle_ns(Bytes bytes) const {
    return bytes == 0 ? 0 : latency_ns + occupancy_ns(ns_per_byte, bytes);
  }
};

class RouteTable {
 public:
  // Links whose ends name no node, or whose bandwidth is not positive, are ignored: the loader and
  // validation of platforms report them. O(ends * (links + nodes) * log nodes).
  explicit RouteTable(const Platform& platform);

  // The end that stands for the host's memory: the device of that name, else a node of its own, or
  // the first CPU when no link leads to the host.
  uint32_t host() const { return host_; }
  // Ends are device indices and host().
  const Route& route(uint32_t from, uint32_t to) const { return routes_[from * ends_ + to]; }

 private:
  uint32_t ends_ = 0;
  uint32_t host_ = 0;
  std::vector<Route> routes_;
};

}  // namespace dfsim::inline hardware
