// Costs of rounds on a group (ring shifts, pairwise exchanges, within and between nodes), the
// closed formulas on top of them, and the choice of the cheapest algorithm per call. A round
// takes as long as its slowest message, with all of its messages on the links at once.
#include "partition/collectives/collectives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"

namespace dfsim::inline partition {
namespace {

using Pairs = std::vector<std::pair<size_t, size_t>>;  // positions in the group: from, to

// The cost of a round in which all these messages move at once.
class RoundCost {
 public:
  RoundCost(const Platform& platform, const RouteTable& routes, std::span<const DeviceId> group)
      : platform_(platform), routes_(routes), group_(group) {}

  // Raises `cost` to what the round needs.
  void raise(const Pairs& pairs, LinkCost* cost) const {
    std::map<std::pair<uint32_t, bool>, int> load;  // by link and direction
    for (const auto& [from, to] : pairs) {
      const Route& route = routes_.route(group_[from].value(), group_[to].value());
      cost->alpha_ns = std::max(cost->alpha_ns, static_cast<double>(route.latency_ns));
      cost->beta_ns_per_byte = std::max(cost->beta_ns_per_byte, route.ns_per_byte);
      for (const Hop& hop : route.hops) {
        ++load[channel(hop)];
      }
    }
    for (const auto& [key, messages] : load) {
      const LinkSpec& link = platform_.links[key.first];
      if (link.sharing != LinkSharing::kNone) {
        const double ns_per_byte = static_cast<double>(kNsPerSecond) / link.bytes_per_s;
        cost->beta_ns_per_byte = std::max(cost->beta_ns_per_byte, messages * ns_per_byte);
      }
    }
  }

  const Route& route(size_t from, size_t to) const {
    return routes_.route(group_[from].value(), group_[to].value());
  }

 private:
  std::pair<uint32_t, bool> channel(const Hop& hop) const {
    const bool both = !platform_.links[hop.link.index()].full_duplex;
    return {hop.link.value(), both ? false : hop.reversed};
  }

  const Platform& platform_;
  const RouteTable& routes_;
  std::span<const DeviceId> group_;
};

// Rank r sends to r + k, for k from 1 to `most`.
LinkCost shift_cost(const RoundCost& round, size_t ranks, size_t most) {
  LinkCost cost;
  for (size_t k = 1; k <= most && k < ranks; ++k) {
    Pairs pairs;
    for (size_t r = 0; r < ranks; ++r) {
      pairs.emplace_back(r, (r + k) % ranks);
    }
    round.raise(pairs, &cost);
  }
  return cost;
}

LinkCost exchange_cost(const RoundCost& round, size_t ranks) {
  LinkCost cost;
  for (size_t distance = 1; distance < ranks; distance *= 2) {
    Pairs pairs;
    for (size_t r = 0; r < ranks; ++r) {
      if ((r ^ distance) < ranks) {
        pairs.emplace_back(r, r ^ distance);
      }
    }
    round.raise(pairs, &cost);
  }
  return cost;
}

// The largest blocks of consecutive ranks in which every pair is as fast as ranks 0 and 1, while
// every pair of different blocks is slower; `ranks` when there is only one.
size_t find_nodes(const RoundCost& round, size_t ranks) {
  constexpr double kSame = 1.001;
  const double near = round.route(0, 1).ns_per_byte * kSame;
  size_t size = 1;
  while (size < ranks && round.route(0, size).ns_per_byte <= near) {
    ++size;
  }
  if (ranks % size != 0) {
    return ranks;
  }
  for (size_t a = 0; a < ranks; ++a) {
    for (size_t b = 0; b < ranks; ++b) {
      const bool same_node = a / size == b / size;
      if (a != b && (round.route(a, b).ns_per_byte <= near) != same_node) {
        return ranks;
      }
    }
  }
  return size;
}

double ring_pass_ns(double ranks, double bytes, const LinkCost& cost) {
  return (ranks - 1) * cost.alpha_ns + (ranks - 1) / ranks * bytes * cost.beta_ns_per_byte;
}

std::optional<double> hierarchical_ns(double bytes, const GroupCosts& costs) {
  if (costs.local_ranks <= 1 || costs.local_ranks >= costs.ranks) {
    return std::nullopt;
  }
  const auto local = static_cast<double>(costs.local_ranks);
  const double nodes = static_cast<double>(costs.ranks) / local;
  return 2 * ring_pass_ns(local, bytes, costs.local_ring) +
         2 * ring_pass_ns(nodes, bytes / local, costs.across_ring);
}

std::optional<double> all_reduce_ns(CollectiveAlgorithm algorithm, double bytes,
                                    const GroupCosts& costs) {
  const auto p = static_cast<double>(costs.ranks);
  const bool power = std::has_single_bit(static_cast<uint64_t>(costs.ranks));
  const double rounds = std::ceil(std::log2(p));
  const double message = costs.exchange.alpha_ns + bytes * costs.exchange.beta_ns_per_byte;
  switch (algorithm) {
    case CollectiveAlgorithm::kRing:
      return 2 * ring_pass_ns(p, bytes, costs.ring);
    case CollectiveAlgorithm::kRecursive:
      return power ? std::optional<double>(rounds * message) : std::nullopt;
    case CollectiveAlgorithm::kRabenseifner:
      return power
                 ? std::optional<double>(2 * rounds * costs.exchange.alpha_ns +
                                         2 * (p - 1) / p * bytes * costs.exchange.beta_ns_per_byte)
                 : std::nullopt;
    case CollectiveAlgorithm::kTree:
      return 2 * rounds * message;
    case CollectiveAlgorithm::kHierarchical:
      return hierarchical_ns(bytes, costs);
    case CollectiveAlgorithm::kPairwise:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::string_view collective_kind_name(CollectiveKind kind) {
  constexpr std::array<std::string_view, kCollectiveKindCount> kNames = {
      "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view collective_algorithm_name(CollectiveAlgorithm algorithm) {
  constexpr std::array<std::string_view, kCollectiveAlgorithmCount> kNames = {
      "ring", "recursive", "rabenseifner", "tree", "pairwise", "hierarchical"};
  return kNames[static_cast<size_t>(algorithm)];
}

GroupCosts group_costs(const Platform& platform, const RouteTable& routes,
                       std::span<const DeviceId> group) {
  GroupCosts costs;
  costs.ranks = static_cast<int64_t>(group.size());
  if (group.size() < 2) {
    return costs;
  }
  const size_t ranks = group.size();
  const RoundCost round(platform, routes, group);
  costs.ring = shift_cost(round, ranks, 1);
  costs.exchange = exchange_cost(round, ranks);
  costs.pairwise = shift_cost(round, ranks, ranks - 1);
  const size_t local = find_nodes(round, ranks);
  costs.local_ranks = static_cast<int64_t>(local);
  Pairs within;
  Pairs across;
  for (size_t r = 0; r < ranks; ++r) {
    within.emplace_back(r, r / local * local + (r + 1) % local);
    across.emplace_back(r, (r + local) % ranks);
  }
  costs.timings = find_collective_timings(platform.collectives, platform, routes, group);
  if (local > 1 && local < ranks) {
    round.raise(within, &costs.local_ring);
    round.raise(across, &costs.across_ring);
  }
  return costs;
}

std::optional<double> collective_ns(CollectiveKind kind, CollectiveAlgorithm algorithm, Bytes bytes,
                                    const GroupCosts& costs) {
  const auto p = static_cast<double>(costs.ranks);
  const auto n = static_cast<double>(bytes);
  const bool power = std::has_single_bit(static_cast<uint64_t>(costs.ranks));
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return costs.ranks < 2 ? 0.0 : all_reduce_ns(algorithm, n, costs);
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
      if (algorithm == CollectiveAlgorithm::kRing) {
        return ring_pass_ns(p, n, costs.ring);
      }
      if (algorithm == CollectiveAlgorithm::kRecursive && power) {
        return std::log2(p) * costs.exchange.alpha_ns +
               (p - 1) / p * n * costs.exchange.beta_ns_per_byte;
      }
      return std::nullopt;
    case CollectiveKind::kAllToAll:
      return algorithm == CollectiveAlgorithm::kPairwise
                 ? std::optional<double>(ring_pass_ns(p, n, costs.pairwise))
                 : std::nullopt;
    case CollectiveKind::kBroadcast:
      return algorithm == CollectiveAlgorithm::kTree
                 ? std::optional<double>(
                       std::ceil(std::log2(p)) *
                       (costs.exchange.alpha_ns + n * costs.exchange.beta_ns_per_byte))
                 : std::nullopt;
  }
  return std::nullopt;
}

TimeNs collective_time_ns(CollectiveKind kind, Bytes bytes, const GroupCosts& costs) {
  const CollectiveTiming* timing = costs.timings[static_cast<size_t>(kind)];
  return timing == nullptr
             ? cheapest_collective(kind, bytes, costs).time_ns
             : std::llround(std::min(timed_collective_ns(*timing, kind, bytes, costs.ranks), 9e18));
}

CollectiveChoice cheapest_collective(CollectiveKind kind, Bytes bytes, const GroupCosts& costs) {
  CollectiveChoice best;
  std::optional<double> least;
  for (int a = 0; a < kCollectiveAlgorithmCount; ++a) {
    const auto algorithm = static_cast<CollectiveAlgorithm>(a);
    const auto time = collective_ns(kind, algorithm, bytes, costs);
    if (time && (!least || *time < *least)) {
      least = time;
      best = {algorithm, std::llround(std::min(*time, 9e18))};
    }
  }
  DFSIM_CHECK(least.has_value());  // ring, tree or pairwise work for any number of ranks
  return best;
}

}  // namespace dfsim::inline partition
