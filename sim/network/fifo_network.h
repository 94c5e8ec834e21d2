// FifoNetwork: links and copy engines that serve transfers one at a time, in order of request.
//
// A transfer holds every contended channel of its route, and a copy engine of the accelerators at
// its ends, for as long as the slowest hop needs for its bytes; the last byte arrives the sum of
// latencies later. Each resource serves transfers in the order of request, so the whole timing of a
// transfer is known when it is requested. A channel is one direction of a full-duplex link, or a
// whole half-duplex link.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "hardware/platform.h"
#include "hardware/route.h"

namespace dfsim::inline sim {

class FifoNetwork {
 public:
  struct Timing {
    TimeNs begin_ns;   // leaves its queues
    TimeNs arrive_ns;  // the last byte is there
  };

  FifoNetwork(const Platform& platform, const RouteTable& routes, uint32_t ends);

  // Transfers of the route arrive in the order of request, because one resource serves them all.
  bool ordered(uint32_t route) const { return paths_[route].ordered; }
  // `route` = from * ends + to. O(hops + copy engines). Requests come in order of `now_ns`.
  Timing book(uint32_t route, Bytes bytes, TimeNs now_ns);

 private:
  struct Path {
    double ns_per_byte = 0;
    TimeNs latency_ns = 0;
    uint32_t channels_begin = 0;
    uint32_t channels_end = 0;
    uint32_t out_begin = 0;  // engines of the end it leaves
    uint32_t out_end = 0;
    uint32_t in_begin = 0;  // and of the one it goes to
    uint32_t in_end = 0;
    bool ordered = false;
  };

  // The engine of a range that is free first.
  TimeNs& first_free_engine(uint32_t begin, uint32_t end);

  std::vector<Path> paths_;           // by route
  std::vector<uint32_t> channels_;    // of all paths
  std::vector<TimeNs> channel_free_;  // when the last booked transfer has left
  std::vector<TimeNs> engine_free_;   // in the same way; of an end without limit: an entry always 0
};

}  // namespace dfsim::inline sim
