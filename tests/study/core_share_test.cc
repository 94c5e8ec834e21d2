// Placement on NUMA nodes, by hand: two nodes of four cores, 20 GB/s each, and links of 4 GB/s per
// direction. A core draws 10 GB/s.
#include "study/roofline/scaling/core_share.h"

#include <catch2/catch.hpp>

using namespace dfsim;

namespace {

constexpr double kCore = 10e9;

DeviceSpec two_nodes() {
  DeviceSpec device;
  device.model = "Two nodes";
  device.type = DeviceType::kCpu;
  device.compute_units = 8;
  device.memory_bytes_per_s = 40e9;
  return device;
}

CoreShare placed(int64_t processes, int64_t threads, const std::string& placement) {
  CoreShare share;
  share.processes = processes;
  share.threads = threads;
  share.numa = {.nodes = 2, .link_bytes_per_s = 4e9, .source = ""};
  share.placement = placement;
  return share;
}

double drawn(int64_t processes, int64_t threads, const std::string& placement) {
  return copy_bytes_per_s(two_nodes(), placed(processes, threads, placement), kCore);
}

}  // namespace

TEST_CASE("node_share: nodes of a copy, copies of a node, and remote traffic") {
  const auto share = [](int64_t processes, int64_t threads, const std::string& placement) {
    const auto found = node_share(two_nodes(), placed(processes, threads, placement));
    REQUIRE(found.ok());
    return *found;
  };
  CHECK(share(1, 8, "free").nodes == 2);
  CHECK(share(1, 8, "free").remote == 0.5);
  CHECK(share(2, 4, "free").copies == 2);    // both on both nodes
  CHECK(share(2, 4, "compact").nodes == 1);  // cores 0-3 and 4-7
  CHECK(share(2, 3, "compact").nodes == 2);  // the second has cores 3-5
  CHECK(share(2, 4, "compact").copies == 1);
  CHECK(share(2, 4, "spread").nodes == 2);
  CHECK(share(8, 1, "spread").nodes == 1);
  CHECK(share(8, 1, "spread").copies == 4);
  CHECK(share(4, 2, "node").nodes == 1);
  CHECK(share(4, 2, "node").copies == 2);
  CHECK(share(4, 2, "node").remote == 0);
}

TEST_CASE("copy_bytes_per_s: cores, memories and links limit a copy in turn") {
  CHECK(drawn(1, 1, "node") == 10e9);     // one core
  CHECK(drawn(1, 4, "node") == 20e9);     // one memory
  CHECK(drawn(2, 4, "node") == 20e9);     // a memory each
  CHECK(drawn(4, 2, "node") == 10e9);     // half of one
  CHECK(drawn(1, 8, "free") == 16e9);     // half of the traffic over two links of 4 GB/s
  CHECK(drawn(2, 4, "free") == 8e9);      // which two copies share
  CHECK(drawn(1, 4, "compact") == 20e9);  // one node
  CHECK(drawn(1, 8, "compact") == 16e9);
  CHECK(drawn(8, 1, "free") == 2e9);
  CHECK(drawn(8, 1, "spread") == 5e9);
}

TEST_CASE("copy_bytes_per_s: wide links leave the memories as the limit") {
  CoreShare share = placed(1, 8, "free");
  share.numa.link_bytes_per_s = 100e9;
  CHECK(copy_bytes_per_s(two_nodes(), share, kCore) == 40e9);
}

TEST_CASE("threads_of_share: divides the cores, and those of a node") {
  CHECK(threads_of_share(two_nodes(), placed(1, 1, "free")) == 8);
  CHECK(threads_of_share(two_nodes(), placed(1, 1, "node")) == 4);
  CHECK(threads_of_share(two_nodes(), placed(2, 1, "node")) == 4);
  CHECK(threads_of_share(two_nodes(), placed(4, 1, "node")) == 2);
  CoreShare pools = placed(2, 1, "free");
  pools.inter = 2;
  CHECK(threads_of_share(two_nodes(), pools) == 2);
}

TEST_CASE("node_share: refuses more threads than cores, and unknown placements") {
  const auto message = [](const CoreShare& share) {
    const auto found = node_share(two_nodes(), share);
    REQUIRE_FALSE(found.ok());
    CHECK(found.status().code() == StatusCode::kInvalidInput);
    return found.status().message();
  };
  CHECK(message(placed(1, 9, "free")).find("found 9 threads") != std::string::npos);
  CHECK(message(placed(1, 5, "node")).find("4 cores of a NUMA node") != std::string::npos);
  CHECK(message(placed(3, 3, "node")).find("3 processes x 3 threads") != std::string::npos);
  CHECK(message(placed(1, 1, "nodes")).find("node") != std::string::npos);
}
