// FlowNetwork: links and copy engines as a discrete-event model, for platforms with fair links.
//
// A transfer first needs every FIFO resource of its way: FIFO channels, and a copy engine of the
// accelerators at its ends; each resource grants in the order of request and is held until the last
// byte has left. Then, on a way with a fair channel, the latencies pass and the bytes flow at the
// max-min fair rate; without one, the bytes take bytes / slowest bandwidth and arrive the latencies
// later. Without fair links this gives the same times as FifoNetwork, which is faster.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "hardware/platform.h"
#include "hardware/route.h"
#include "sim/network/fair_share.h"
#include "sim/queues/event_queue.h"
#include "sim/queues/indexed_heap.h"

namespace dfsim::inline sim {

enum class FlowStep : uint8_t { kStarted, kReleased, kArrived };

// What happened to a transfer. Released: it holds no resource any more.
struct FlowEvent {
  FlowStep step;
  uint32_t transfer;
};

class FlowNetwork {
 public:
  FlowNetwork(const Platform& platform, const RouteTable& routes, uint32_t ends);

  // `transfer` is a small dense id, free to be used again after its arrival. Appends what happens
  // at once to `out`.
  void request(uint32_t transfer, uint32_t route, Bytes bytes, TimeNs now_ns,
               std::vector<FlowEvent>& out);
  // When something happens next; INT64_MAX = never. Not const: settles the rates of `now_ns` first.
  TimeNs next_ns(TimeNs now_ns);
  // Everything of that instant; `now_ns` must be next_ns(). Appends to `out`.
  void advance(TimeNs now_ns, std::vector<FlowEvent>& out);

 private:
  enum Kind : uint32_t { kJoin, kLeaveWire, kArrive };

  // FIFO channel or the copy engines of an end.
  struct Resource {
    uint32_t free = 1;
    std::vector<uint32_t> waiting;  // transfers; the first `served` are gone
    size_t served = 0;
  };
  struct Path {
    double ns_per_byte = 0;
    TimeNs latency_ns = 0;
    double cap = 0;  // bytes per ns: slowest channel that is not fair
    uint32_t fair_begin = 0;
    uint32_t fair_end = 0;
    uint32_t resource_begin = 0;
    uint32_t resource_end = 0;
  };
  struct Flow {
    uint32_t route = 0;
    uint32_t missing = 0;  // resources not granted yet
    Bytes bytes = 0;
    double left_bytes = 0;
    double rate = 0;  // bytes per ns
    TimeNs updated_ns = 0;
  };

  void add_path(const Platform& platform, const Route& route, uint32_t from, uint32_t to);
  std::span<const uint32_t> fair_channels(const Path& path) const {
    return std::span(fair_).subspan(path.fair_begin, path.fair_end - path.fair_begin);
  }
  void begin(uint32_t transfer, TimeNs now_ns, std::vector<FlowEvent>& out);
  void release(uint32_t transfer, TimeNs now_ns, std::vector<FlowEvent>& out);
  void settle(TimeNs now_ns);

  std::vector<Path> paths_;
  std::vector<uint32_t> fair_;  // channels of all paths
  std::vector<uint32_t> path_resources_;
  std::vector<Resource> resources_;  // FIFO channels, then copy engines
  std::vector<Flow> flows_;
  EventQueue events_;
  FairShare shares_;
  IndexedHeap ends_;  // of flows in the sharing phase
  std::vector<uint32_t> changed_;
};

}  // namespace dfsim::inline sim
