// Hand-computed cases, one resource at a time.
#include <catch2/catch.hpp>

#include "sim/network/fair_share.h"
#include "tests/sim/random_case.h"
#include "tests/sim/sim_case.h"

using namespace dfsim;

namespace {

constexpr int kMemoryWait = static_cast<int>(WaitReason::kMemory);

// Two devices; tasks 0 and 1 on d0 end at 10 and 20 and each send 100 bytes to readers on d1.
SimCase two_transfers() {
  SimCase sim(2);
  const TaskId a = sim.task(10, 0);
  const TaskId b = sim.task(10, 0);
  const TaskId c = sim.task(1, 1);
  const TaskId d = sim.task(1, 1);
  sim.edge(a, c, 100);
  sim.edge(b, d, 100);
  return sim;
}

}  // namespace

TEST_CASE("a FIFO link serves one transfer at a time", "[sim]") {
  SimCase sim = two_transfers();
  sim.platform.links[0].latency_ns = 5;
  sim.build();
  const SimResult result = sim.run();
  CHECK(result.tasks[2].start_ns == 115);
  CHECK(result.tasks[3].start_ns == 215);  // leaves at 110, when the wire is free
  CHECK(result.links[0].busy_ns == 200);
}

TEST_CASE("a fair link shares its bandwidth", "[sim]") {
  SimCase sim = two_transfers();
  sim.platform.links[0].sharing = LinkSharing::kFair;
  sim.build();
  const SimResult result = sim.run();
  // Alone from 10 to 20 (10 bytes), then half each: 90 bytes take 180; 10 bytes are left for alone.
  CHECK(result.tasks[2].start_ns == 200);
  CHECK(result.tasks[3].start_ns == 210);
}

TEST_CASE("a link without contention delays nobody", "[sim]") {
  SimCase sim = two_transfers();
  sim.platform.links[0].sharing = LinkSharing::kNone;
  sim.build();
  const SimResult result = sim.run();
  CHECK(result.tasks[2].start_ns == 110);
  CHECK(result.tasks[3].start_ns == 120);
}

TEST_CASE("one copy engine orders copies on different links", "[sim]") {
  SimCase sim(3);
  const TaskId a = sim.task(10, 0);
  const TaskId b = sim.task(1, 1);
  const TaskId c = sim.task(1, 2);
  sim.edge(a, b, 100);
  sim.edge(a, c, 100);
  SECTION("two engines") {
    sim.platform.devices[0].copy_engines = 2;
    sim.build();
    CHECK(sim.run().tasks[2].start_ns == 110);
  }
  SECTION("one engine") {
    sim.platform.devices[0].copy_engines = 1;
    sim.build();
    CHECK(sim.run().tasks[2].start_ns == 210);
  }
}

TEST_CASE("half duplex shares one wire between directions", "[sim]") {
  SimCase sim(2);
  const TaskId a = sim.task(10, 0);
  const TaskId b = sim.task(10, 1);
  const TaskId c = sim.task(1, 1);
  const TaskId d = sim.task(1, 0);
  sim.edge(a, c, 100);
  sim.edge(b, d, 100);
  SECTION("full duplex") {
    sim.build();
    CHECK(sim.run().makespan_ns == 111);
  }
  SECTION("half duplex") {
    sim.platform.links[0].full_duplex = false;
    sim.build();
    CHECK(sim.run().makespan_ns == 211);
  }
}

TEST_CASE("a route adds latencies and takes the slowest hop", "[sim]") {
  SimCase sim(2);
  sim.platform.links.clear();
  sim.platform.switches = {"sw"};
  LinkSpec& first = sim.link("d0", "sw");
  first.latency_ns = 3;
  first.bytes_per_s = 2e9;
  sim.link("sw", "d1").latency_ns = 4;
  const TaskId a = sim.task(10, 0);
  sim.edge(a, sim.task(1, 1), 100);
  sim.build();
  CHECK(sim.run().tasks[1].start_ns == 117);
  for (LinkSpec& link : sim.platform.links) {
    link.sharing = LinkSharing::kFair;
  }
  CHECK(sim.run().tasks[1].start_ns == 117);
}

TEST_CASE("devices that no link joins are reported", "[sim]") {
  SimCase sim(2);
  sim.platform.links.clear();
  const TaskId a = sim.task(10, 0);
  sim.edge(a, sim.task(1, 1), 100);
  sim.build();
  const auto result = simulate(sim.input(), sim.schedule);
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().message().find("no links lead there") != std::string::npos);
}

TEST_CASE("compute is slowed down while a transfer overlaps", "[sim]") {
  SimCase sim(2);
  sim.platform.devices[0].overlap_slowdown = 2;
  const TaskId a = sim.task(10, 0);
  sim.task(100, 0);
  sim.edge(a, sim.task(1, 1), 60);
  sim.build();
  // The second task runs from 10; until 70 at half speed (30 done), then 70 more.
  const SimResult result = sim.run();
  CHECK(result.tasks[1].end_ns == 140);
  CHECK(result.devices[0].busy_ns == 140);
}

TEST_CASE("queues run independent tasks side by side, ready first", "[sim]") {
  SimCase sim(1);
  sim.platform.devices[0].queues = 2;
  sim.platform.runtime.streams = 2;
  const TaskId a = sim.task(10);
  const TaskId b = sim.task(10);
  sim.edge(a, b, 1);
  sim.task(15);
  sim.build();
  CHECK(sim.run().makespan_ns == 20);
  SimOptions options;
  options.queue_order = QueueOrder::kInOrder;
  CHECK(sim.run(options).makespan_ns == 25);  // the third task comes after b
}

TEST_CASE("workers of a pool pay for their own dispatch", "[sim]") {
  SimCase sim(1);
  sim.platform.devices[0].type = DeviceType::kCpu;
  sim.platform.runtime.inter_op_workers = 2;
  sim.platform.runtime.asynchronous = false;
  sim.platform.runtime.dispatch_ns = 3;
  sim.task(10);
  sim.task(10);
  sim.task(10);
  sim.build();
  const SimResult result = sim.run();
  CHECK(result.makespan_ns == 26);
  CHECK(result.tasks[2].wait_ns == WaitTimes{0, 0, 3, 13, 0});
}

TEST_CASE("two dispatch threads halve the cost of dispatch", "[sim]") {
  SimCase sim(1);
  sim.platform.runtime.dispatch_ns = 10;
  for (int i = 0; i < 4; ++i) {
    sim.task(1);
  }
  sim.build();
  CHECK(sim.run().makespan_ns == 41);
  sim.platform.runtime.dispatch_threads = 2;
  CHECK(sim.run().makespan_ns == 22);
}

TEST_CASE("memory that is full", "[sim]") {
  // a -> b, c -> d: one device, 100 bytes each; a and c both alive need 200.
  SimCase sim(2);
  const TaskId a = sim.task(10, 0);
  const TaskId b = sim.task(10, 1);
  const TaskId c = sim.task(10, 0);
  const TaskId d = sim.task(10, 0);
  sim.edge(a, b, 100);
  sim.edge(c, d, 100);
  sim.platform.devices[0].memory_bytes = 150;
  sim.platform.host.node = "d1";
  SimOptions options;
  sim.build();
  SECTION("tracked: only the peak is told") {
    const SimResult result = sim.run(options);
    CHECK(result.devices[0].peak_memory_bytes == 200);
    CHECK(result.tasks[2].start_ns == 10);
  }
  SECTION("fail lists the tensors") {
    options.memory = MemoryPolicy::kFail;
    const auto result = simulate(sim.input(), sim.schedule, options);
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().code() == StatusCode::kFailed);
    CHECK(result.status().message().find("output of 't0' 100 B") != std::string::npos);
  }
  SECTION("wait: c starts when a's data has left") {
    options.memory = MemoryPolicy::kWait;
    const SimResult result = sim.run(options);
    CHECK(result.tasks[2].start_ns == 110);
    CHECK(result.tasks[2].wait_ns[kMemoryWait] == 100);
    CHECK(result.devices[0].peak_memory_bytes == 100);
  }
  SECTION("a task that can never fit") {
    options.memory = MemoryPolicy::kWait;
    sim.platform.devices[0].memory_bytes = 99;
    const auto result = simulate(sim.input(), sim.schedule, options);
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().code() == StatusCode::kInvalidInput);
  }
}

TEST_CASE("a tensor is spilled and comes back", "[sim]") {
  SimCase sim(1);
  sim.link("host", "d0");
  const TaskId a = sim.task(10);
  const TaskId b = sim.task(10);
  const TaskId c = sim.task(10);
  const TaskId d = sim.task(10);
  sim.edge(a, d, 100);
  sim.edge(b, c, 80);
  sim.platform.devices[0].memory_bytes = 150;
  sim.build();
  SimOptions options;
  options.memory = MemoryPolicy::kSpill;
  const SimResult result = sim.run(options);
  // a's data leaves from 10 to 110, then b runs to 120 and c to 130. It comes back from 130, when
  // b's data is gone, to 230.
  CHECK(result.tasks[1].start_ns == 110);
  CHECK(result.tasks[1].wait_ns[kMemoryWait] == 100);
  CHECK(result.tasks[3].start_ns == 230);
  CHECK(result.bytes_spilled == 200);
  CHECK(result.host_peak_memory_bytes == 100);
}

TEST_CASE("max-min shares of a small network", "[sim]") {
  // Channels of 10 and 4: flow 0 crosses both, flow 1 the first, flow 2 the second, flow 3 the
  // first with a cap of 1.
  FairShare shares({10, 4});
  const std::vector<uint32_t> both{0, 1};
  const std::vector<uint32_t> first{0};
  const std::vector<uint32_t> second{1};
  const double none = std::numeric_limits<double>::infinity();
  std::vector<uint32_t> changed;
  shares.add(0, both, none);
  shares.add(1, first, none);
  shares.add(2, second, none);
  shares.add(3, first, 1);
  shares.solve(changed);
  CHECK(changed.size() == 4);
  CHECK(shares.rate(0) == 2);
  CHECK(shares.rate(1) == 7);
  CHECK(shares.rate(2) == 2);
  CHECK(shares.rate(3) == 1);
  shares.remove(2);
  shares.solve(changed);
  CHECK(shares.rate(0) == 4);
  CHECK(shares.rate(1) == 5);
}

// The closed form of FIFO links and the event-driven network are two ways to the same times: a fair
// link that nothing crosses switches from one to the other.
TEST_CASE("both networks give the same times on FIFO links", "[sim]") {
  RandomFeatures features;
  features.fair = false;
  features.overlap = false;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomCase random = random_case(seed, features, 80);
    // Times that do not coincide: at one instant the two may take transfers in another order.
    for (uint32_t row = 0; row < random.costs.rows(); ++row) {
      for (size_t d = 0; d < random.costs.devices(); ++d) {
        random.costs.at(row, DeviceId(d)).time_ns =
            static_cast<TimeNs>(Rng(seed).split(row * 8 + d).below(1'000'000'000));
      }
    }
    const auto closed = simulate(random.input(), random.schedule);
    REQUIRE(closed.ok());
    random.platform.switches.emplace_back("aside");
    LinkSpec link;
    link.name = "aside";
    link.from = "host";
    link.to = "aside";
    link.bytes_per_s = 1e9;
    random.platform.links.push_back(link);
    const auto events = simulate(random.input(), random.schedule);
    REQUIRE(events.ok());
    INFO("seed " << seed);
    CHECK(closed->makespan_ns == events->makespan_ns);
    CHECK(closed->wait_ns == events->wait_ns);
  }
}
