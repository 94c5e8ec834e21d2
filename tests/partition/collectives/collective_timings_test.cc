// Timings of collectives: which one a group gets, what it gives, and that fitting finds parameters
// again.
#include <catch2/catch.hpp>
#include <cmath>

#include "base/rng.h"
#include "hardware/platform_loader.h"
#include "partition/collectives/collectives.h"
#include "partition/collectives/protocol_fit.h"
#include "partition/sharding/device_mesh.h"

namespace dfsim {
namespace {

Platform shipped(const std::string& name) {
  auto platform = load_platform(name);
  INFO(platform.status().message());
  REQUIRE(platform.ok());
  return std::move(platform).value();
}

CollectiveTimings timings_of(const Platform& platform, const std::vector<size_t>& devices) {
  std::vector<DeviceId> group;
  for (const size_t device : devices) {
    group.emplace_back(device);
  }
  return find_collective_timings(platform.collectives, platform, RouteTable(platform), group);
}

const CollectiveTiming* of(const CollectiveTimings& timings, CollectiveKind kind) {
  return timings[static_cast<size_t>(kind)];
}

TEST_CASE("CollectiveTiming: applies to the links of the slowest route and to its collective") {
  const Platform pairs = shipped("4xa100-pcie");
  const CollectiveTimings bridge = timings_of(pairs, {0, 1});
  const CollectiveTimings all = timings_of(pairs, {0, 1, 2, 3});
  REQUIRE(of(bridge, CollectiveKind::kAllReduce) != nullptr);
  REQUIRE(of(all, CollectiveKind::kAllReduce) != nullptr);
  CHECK(of(bridge, CollectiveKind::kAllReduce)->over == "nvlink*");
  CHECK(of(all, CollectiveKind::kAllReduce)->over == "pcie*");
  CHECK(of(timings_of(pairs, {0, 2}), CollectiveKind::kAllReduce)->over == "pcie*");
  // Nodes of a cluster have the node's timings, groups across them the links' formulas.
  const Platform cluster = shipped("8xdgx-a100");
  CHECK(of(timings_of(cluster, {8, 9, 15}), CollectiveKind::kAllToAll) != nullptr);
  CHECK(of(timings_of(cluster, {0, 8}), CollectiveKind::kAllToAll) == nullptr);
  // A broadcast moves what an all-gather moves.
  const Platform dgx = shipped("dgx-h100");
  const CollectiveTimings node = timings_of(dgx, {0, 1, 2});
  REQUIRE(of(node, CollectiveKind::kBroadcast) != nullptr);
  CHECK(of(node, CollectiveKind::kBroadcast) == of(node, CollectiveKind::kAllGather));
  CHECK(of(timings_of(dgx, {0}), CollectiveKind::kAllReduce) == nullptr);
}

TEST_CASE("CollectiveTiming: a call takes the quickest protocol") {
  const CollectiveTiming timing{"nvlink*", "", {{1000, 100, 1e9}, {9000, 10, 10e9}}, ""};
  // 4 ranks, 8,000 bytes: 3 steps and 6,000 bytes; 1000 + 300 + 6000 and 9000 + 30 + 600.
  CHECK(timed_collective_ns(timing, CollectiveKind::kAllGather, 8000, 4) == 7300);
  // Twice that for an all-reduce: 1000 + 600 + 12000 and 9000 + 60 + 1200.
  CHECK(timed_collective_ns(timing, CollectiveKind::kAllReduce, 8000, 4) == 10260);
  CHECK(timed_collective_ns(timing, CollectiveKind::kAllReduce, 8000, 1) == 0);
}

TEST_CASE("two protocols are found again from times with noise") {
  const CollectiveTiming truth{"", "", {{4000, 700, 30e9}, {15000, 200, 200e9}}, ""};
  Rng rng(7);
  std::vector<CollectiveSample> samples;
  for (const int64_t ranks : {2, 4, 8}) {
    for (Bytes bytes = 512; bytes <= Bytes{1} << 29; bytes *= 2) {
      const double ns = timed_collective_ns(truth, CollectiveKind::kAllReduce, bytes, ranks);
      samples.push_back(
          {CollectiveKind::kAllReduce, ranks, bytes, ns * (0.98 + 0.04 * rng.uniform())});
    }
  }
  const CollectiveTiming found{"", "", fit_protocols(samples, 2), ""};
  std::vector<double> predicted;
  for (const CollectiveSample& sample : samples) {
    predicted.push_back(timed_collective_ns(found, sample.kind, sample.bytes, sample.ranks));
  }
  const CollectiveMape mape = collective_mape(samples, predicted);
  CHECK(mape.small_rows == 3 * 8);
  CHECK(mape.large_rows == 3 * 13);
  CHECK(mape.small < 0.03);
  CHECK(mape.large < 0.02);
  CHECK(found.protocols[1].bytes_per_s == Approx(200e9).epsilon(0.03));
  CHECK(fit_protocols(samples, 2)[0].start_ns == found.protocols[0].start_ns);  // reproducible
}

}  // namespace
}  // namespace dfsim
