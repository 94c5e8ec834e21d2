// Collectives: the formulas by hand, and the simulator's links agree with them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "partition/collectives/collective_steps.h"
#include "partition/collectives/collectives.h"
#include "sim/simulator.h"
#include "tests/partition/mesh_platform.h"

namespace dfsim {
namespace {

using Kind = CollectiveKind;
using Algorithm = CollectiveAlgorithm;

GroupCosts costs_of(const Platform& platform) {
  std::vector<DeviceId> group;
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    group.emplace_back(d);
  }
  return group_costs(platform, RouteTable(platform), group);
}

// Simulated time of the collective alone on the platform.
TimeNs simulated_ns(const Platform& platform, const std::vector<MessageRound>& rounds) {
  ExecGraphBuilder builder;
  std::vector<TaskId> start;
  std::vector<uint32_t> placed;
  for (uint32_t r = 0; r < platform.devices.size(); ++r) {
    start.push_back(builder.add_task({}));
    placed.push_back(r);
  }
  add_collective(builder, rounds, start, 0, &placed);
  std::vector<uint32_t> order;
  const auto graph = builder.build(&order);
  REQUIRE(graph.ok());
  CostTable costs(1, platform.devices.size());
  Schedule schedule;
  schedule.order.resize(platform.devices.size());
  for (size_t t = 0; t < order.size(); ++t) {
    const uint32_t device = placed[order[t]];
    schedule.placements.push_back({DeviceId(device), 0, 0});
    schedule.order[device].emplace_back(t);
  }
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    costs.at(0, DeviceId(d)).time_ns = 0;
  }
  const auto result = simulate({*graph, costs, platform}, schedule);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return result->makespan_ns;
}

// Nodes of `local` devices at 1 byte/ns, each device with a slower way of its own between nodes.
Platform cluster(size_t nodes, size_t local) {
  Platform platform = switched_platform(0);
  platform.switches.clear();
  for (size_t node = 0; node < nodes; ++node) {
    platform.switches.push_back(fmt::format("sw{}", node));
    for (size_t i = 0; i < local; ++i) {
      DeviceSpec device;
      device.name = fmt::format("d{}", node * local + i);
      device.copy_engines = 2;
      platform.devices.push_back(device);
      LinkSpec near;
      near.name = "near" + device.name;
      near.from = device.name;
      near.to = platform.switches.back();
      near.bytes_per_s = 1e9;
      near.latency_ns = 500;
      platform.links.push_back(near);
      LinkSpec far = near;
      far.name = "far" + device.name;
      far.to = fmt::format("rail{}", i);
      far.bytes_per_s = 1e8;
      far.latency_ns = 2000;
      platform.links.push_back(far);
    }
  }
  for (size_t i = 0; i < local; ++i) {
    platform.switches.push_back(fmt::format("rail{}", i));
  }
  // Devices of different rails reach each other over a slow core.
  for (size_t i = 0; i < local; ++i) {
    LinkSpec core;
    core.name = fmt::format("core{}", i);
    core.from = fmt::format("rail{}", i);
    core.to = "core";
    core.bytes_per_s = 1e8;
    core.latency_ns = 2000;
    platform.links.push_back(core);
  }
  platform.switches.push_back("core");
  return platform;
}

TEST_CASE("formulas of collectives, by hand") {
  GroupCosts costs;
  costs.ranks = 8;
  costs.ring = costs.exchange = costs.pairwise = {1000, 0.5};
  const Bytes n = 8000;
  const auto ns = [&](Kind kind, Algorithm algorithm) {
    return collective_ns(kind, algorithm, n, costs).value_or(-1);
  };
  CHECK(ns(Kind::kAllGather, Algorithm::kRing) == 7 * 1000 + 3500);
  CHECK(ns(Kind::kReduceScatter, Algorithm::kRing) == 7 * 1000 + 3500);
  CHECK(ns(Kind::kAllGather, Algorithm::kRecursive) == 3 * 1000 + 3500);
  CHECK(ns(Kind::kAllReduce, Algorithm::kRing) == 14 * 1000 + 7000);
  CHECK(ns(Kind::kAllReduce, Algorithm::kRecursive) == 3 * (1000 + 4000));
  CHECK(ns(Kind::kAllReduce, Algorithm::kRabenseifner) == 6 * 1000 + 7000);
  CHECK(ns(Kind::kAllReduce, Algorithm::kTree) == 6 * (1000 + 4000));
  CHECK(ns(Kind::kBroadcast, Algorithm::kTree) == 3 * (1000 + 4000));
  CHECK(ns(Kind::kAllToAll, Algorithm::kPairwise) == 7 * 1000 + 3500);
  CHECK_FALSE(collective_ns(Kind::kAllReduce, Algorithm::kHierarchical, n, costs));
  CHECK_FALSE(collective_ns(Kind::kAllToAll, Algorithm::kTree, n, costs));
  // Nodes of 4: within at (1000, 0.5), between the two at (5000, 2).
  costs.local_ranks = 4;
  costs.local_ring = {1000, 0.5};
  costs.across_ring = {5000, 2};
  CHECK(ns(Kind::kAllReduce, Algorithm::kHierarchical) ==
        2 * (3 * 1000 + 3000) + 2 * (5000 + 2000));
  CHECK(cheapest_collective(Kind::kAllReduce, n, costs).algorithm == Algorithm::kRabenseifner);
  CHECK(cheapest_collective(Kind::kAllReduce, 8, costs).algorithm == Algorithm::kRecursive);
  costs.ranks = 6;
  costs.local_ranks = 1;
  CHECK_FALSE(collective_ns(Kind::kAllGather, Algorithm::kRecursive, n, costs));
  CHECK(cheapest_collective(Kind::kAllGather, n, costs).time_ns ==
        std::llround(5000 + 10000.0 / 3));
  costs.ranks = 1;
  CHECK(cheapest_collective(Kind::kAllReduce, n, costs).time_ns == 0);
  CHECK(cheapest_collective(Kind::kBroadcast, n, costs).time_ns == 0);
}

TEST_CASE("alpha and beta come from the platform's links and their load") {
  const GroupCosts costs = costs_of(switched_platform(4, 3000));
  CHECK(costs.ring.alpha_ns == 3000);
  CHECK(costs.ring.beta_ns_per_byte == 1);
  CHECK(costs.pairwise.beta_ns_per_byte == 1);
  CHECK(costs.local_ranks == 4);  // one node only
  const GroupCosts nodes = costs_of(cluster(2, 4));
  CHECK(nodes.local_ranks == 4);
  CHECK(nodes.local_ring.alpha_ns == 1000);
  CHECK(nodes.local_ring.beta_ns_per_byte == 1);
  CHECK(nodes.across_ring.alpha_ns == 4000);
  CHECK(nodes.across_ring.beta_ns_per_byte == 10);
  // A half-duplex link carries both ways of an exchange.
  Platform half = switched_platform(2);
  for (LinkSpec& link : half.links) {
    link.full_duplex = false;
  }
  CHECK(costs_of(half).ring.beta_ns_per_byte == 2);
}

TEST_CASE("messages of a collective take what its formula says on an idle symmetric network") {
  int compared = 0;
  for (const size_t ranks : {2, 3, 4, 6, 8, 16}) {
    const Platform platform = switched_platform(ranks, 2000);
    const GroupCosts costs = costs_of(platform);
    for (const Bytes bytes : {Bytes{4'000}, Bytes{1'000'003}}) {
      for (int k = 0; k < kCollectiveKindCount; ++k) {
        for (int a = 0; a < kCollectiveAlgorithmCount; ++a) {
          const auto kind = static_cast<Kind>(k);
          const auto algorithm = static_cast<Algorithm>(a);
          const auto formula = collective_ns(kind, algorithm, bytes, costs);
          const auto rounds =
              collective_rounds(kind, algorithm, bytes, static_cast<uint32_t>(ranks));
          REQUIRE(formula.has_value() == rounds.ok());
          if (!formula) {
            continue;
          }
          INFO(collective_kind_name(kind) << " by " << collective_algorithm_name(algorithm) << ", "
                                          << ranks << " ranks, " << bytes << " bytes");
          const TimeNs flow = simulated_ns(platform, *rounds);
          CHECK(std::abs(static_cast<double>(flow) - *formula) <= 0.02 * *formula);
          ++compared;
        }
      }
    }
  }
  CHECK(compared == 2 * (6 * 6 + 4 * 4));  // every number of ranks; powers of two
}

TEST_CASE("a hierarchical all-reduce on a cluster: messages and formula agree") {
  const Platform platform = cluster(2, 4);
  const GroupCosts costs = costs_of(platform);
  for (const Bytes bytes : {Bytes{40'000}, Bytes{4'000'000}}) {
    const auto formula = collective_ns(Kind::kAllReduce, Algorithm::kHierarchical, bytes, costs);
    REQUIRE(formula.has_value());
    const auto rounds = collective_rounds(Kind::kAllReduce, Algorithm::kHierarchical, bytes, 8, 4);
    REQUIRE(rounds.ok());
    const TimeNs flow = simulated_ns(platform, *rounds);
    CHECK(std::abs(static_cast<double>(flow) - *formula) <= 0.02 * *formula);
    CHECK(cheapest_collective(Kind::kAllReduce, bytes, costs).algorithm ==
          Algorithm::kHierarchical);
  }
}

TEST_CASE("messages move as many bytes as the collective must") {
  const auto moved = [](Kind kind, Algorithm algorithm, uint32_t ranks, uint32_t local = 1) {
    const auto rounds = collective_rounds(kind, algorithm, 1000, ranks, local);
    REQUIRE(rounds.ok());
    Bytes sum = 0;
    for (const MessageRound& round : *rounds) {
      for (const Message& message : round) {
        CHECK(message.from != message.to);
        sum += message.bytes;
      }
    }
    return sum;
  };
  // p ranks lack (p-1)/p of the buffer each.
  CHECK(moved(Kind::kAllGather, Algorithm::kRing, 8) == 7 * 1000);
  CHECK(moved(Kind::kAllGather, Algorithm::kRing, 3) == 2 * 1000);
  CHECK(moved(Kind::kAllGather, Algorithm::kRecursive, 8) == 7 * 1000);
  CHECK(moved(Kind::kReduceScatter, Algorithm::kRecursive, 8) == 7 * 1000);
  CHECK(moved(Kind::kAllReduce, Algorithm::kRing, 8) == 14 * 1000);
  CHECK(moved(Kind::kAllReduce, Algorithm::kRabenseifner, 8) == 14 * 1000);
  CHECK(moved(Kind::kAllReduce, Algorithm::kTree, 6) == 2 * 5 * 1000);
  CHECK(moved(Kind::kBroadcast, Algorithm::kTree, 6) == 5 * 1000);
  CHECK(moved(Kind::kAllToAll, Algorithm::kPairwise, 8) == 7 * 1000);
  // Within two nodes of 4: 2 * 3 buffers each; between: 4 quarters twice.
  CHECK(moved(Kind::kAllReduce, Algorithm::kHierarchical, 8, 4) == 2 * 2 * 3 * 1000 + 2 * 1000);
  CHECK(collective_rounds(Kind::kAllReduce, Algorithm::kRecursive, 10, 6).status().message() ==
        "all_reduce of 10 bytes among 6 ranks cannot be done by 'recursive'");
}

}  // namespace
}  // namespace dfsim
