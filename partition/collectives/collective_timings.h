// CollectiveTimings: the times of collectives on a group of devices as measured: starts, steps and
// rates of a library (NCCL), fitted.
//
// A library has several protocols: one for little latency at a fraction of the links' rate, one for
// the full rate that takes longer to start. A call takes
//   min over protocols (start + steps * step + volume / rate)
// steps: p - 1, volume: (p - 1) / p n; twice both for all-reduce. The parameters stand in hardware
// files (`collectives:`); `dfsim evaluate --collectives` says how far they are from measurements
// and finds new ones.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/units.h"
#include "hardware/collective_timing.h"
#include "hardware/platform.h"
#include "hardware/route.h"

namespace dfsim::inline partition {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kBroadcast,
};
inline constexpr int kCollectiveKindCount = 5;

// By kind; nullptr where nothing was measured.
using CollectiveTimings = std::array<const CollectiveTiming*, kCollectiveKindCount>;

// The slowest route between two devices of the group, the first of equals; nullptr when some of
// them are not connected, or there is one only.
const Route* slowest_route(const RouteTable& routes, std::span<const DeviceId> group);

// The timings for this group of devices, which point into `known`: those over whose links its
// slowest route runs, none for devices of several models. A broadcast without a timing of its own
// takes that of all-gather, which moves as much. O(ranks^2) routes.
CollectiveTimings find_collective_timings(std::span<const CollectiveTiming> known,
                                          const Platform& platform, const RouteTable& routes,
                                          std::span<const DeviceId> group);

// What a call among `ranks` devices consists of, without rates.
struct CollectiveShape {
  double steps = 0;
  double bytes = 0;
};
CollectiveShape collective_shape(CollectiveKind kind, Bytes bytes, int64_t ranks);

// Nanoseconds for `ranks` devices; 0 for a single one.
double timed_collective_ns(const CollectiveTiming& timing, CollectiveKind kind, Bytes bytes,
                           int64_t ranks);

}  // namespace dfsim::inline partition
