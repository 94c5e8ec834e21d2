// Closed formulas for the time of collectives, and the choice of the cheapest algorithm.
//
// n bytes in the full buffer (the whole result of a gather, the whole operand of a reduction or
// all-to-all), p ranks, alpha the latency of a message and beta the time per byte:
//   all-gather, reduce-scatter  ring (p-1) a + (p-1)/p n b; recursive log2(p) a + (p-1)/p n b
//   all-reduce                  ring 2 (p-1) a + 2 (p-1)/p n b; recursive log2(p) (a + n b);
//                               Rabenseifner 2 log2(p) a + 2 (p-1)/p n b;
//                               tree 2 ceil(log2 p) (a + n b);
//                               hierarchical: reduce-scatter within nodes, all-reduce of n /
//                               p_local between them, all-gather within, each by ring
//   broadcast                   tree ceil(log2 p) (a + n b)
//   all-to-all                  pairwise (p-1) a + (p-1)/p n b
// Recursive and Rabenseifner need a power of two. Arithmetic of reductions is not counted.
// Papers: Thakur, Rabenseifner, Gropp 2005 (doi:10.1177/1094342005051521); Patarasuk, Yuan 2009
// (doi:10.1016/j.jpdc.2008.09.002).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/units.h"
#include "hardware/platform.h"
#include "hardware/route.h"
#include "partition/collectives/collective_timings.h"

namespace dfsim::inline partition {

std::string_view collective_kind_name(CollectiveKind kind);

enum class CollectiveAlgorithm : uint8_t {
  kRing,
  kRecursive,
  kRabenseifner,
  kTree,
  kPairwise,
  kHierarchical,
};
inline constexpr int kCollectiveAlgorithmCount = 6;
std::string_view collective_algorithm_name(CollectiveAlgorithm algorithm);

// What one message costs while all others of its round move, too.
struct LinkCost {
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
};

// The costs of a group's patterns of messages on a platform.
struct GroupCosts {
  int64_t ranks = 1;
  LinkCost ring;      // each rank to the next one
  LinkCost exchange;  // partners at distances of powers of two
  LinkCost pairwise;  // each rank to the one k further, the worst k
  // Nodes of `local_ranks` consecutive ranks that are nearer to each other than to all others; 1 or
  // `ranks` when there are no such nodes.
  int64_t local_ranks = 1;
  LinkCost local_ring;   // rings within all nodes at once
  LinkCost across_ring;  // rings of the i-th ranks of all nodes, at once for all i
  // What such devices were measured to take over such links, by kind of collective. They point into
  // the platform, which outlives them.
  CollectiveTimings timings{};
};

// alpha is the latency of the slowest route of a pattern; beta that of the most loaded link, shared
// by all messages of a round that cross it in one direction (in either one when it is half duplex).
// Every rank must reach every other. O(ranks^2 * hops).
GroupCosts group_costs(const Platform& platform, const RouteTable& routes,
                       std::span<const DeviceId> group);

// Nanoseconds, or nullopt when the algorithm does not do that collective or not for so many ranks.
// A single rank takes no time.
std::optional<double> collective_ns(CollectiveKind kind, CollectiveAlgorithm algorithm, Bytes bytes,
                                    const GroupCosts& costs);

struct CollectiveChoice {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  TimeNs time_ns = 0;
};

// What a call is taken to take: as measured where there is a timing, else the cheapest algorithm.
TimeNs collective_time_ns(CollectiveKind kind, Bytes bytes, const GroupCosts& costs);

// The cheapest algorithm over the links; ties go to the earlier one of the enumeration.
CollectiveChoice cheapest_collective(CollectiveKind kind, Bytes bytes, const GroupCosts& costs);

}  // namespace dfsim::inline partition
