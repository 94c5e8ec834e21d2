// Copies as operators: by hand, and on random runs never more at once than there are engines.
#include "study/prediction/copy_log.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "report/trace/chrome_trace.h"
#include "tests/sim/random_case.h"
#include "tests/sim/sim_case.h"

using namespace dfsim;

namespace {

// A CPU with two results of 100 bytes for a GPU with one copy engine, and one of 50 back.
// Links: 1 byte/ns after 10 ns.
struct HostAndDevice {
  HostAndDevice() : sim(2) {
    sim.platform.devices[0].type = DeviceType::kCpu;
    sim.platform.devices[1].copy_engines = 1;
    sim.platform.links[0].latency_ns = 10;
    const TaskId a = sim.task(5, 0);
    const TaskId b = sim.task(5, 1);
    const TaskId c = sim.task(5, 0);
    sim.edge(a, b, 100);
    sim.edge(a, b, 100);
    sim.edge(b, c, 50);
    sim.build();
  }
  SimCase sim;
};

}  // namespace

TEST_CASE("copies have a kind, an engine, a duration and a wait") {
  HostAndDevice machine;
  CopyLog log(machine.sim.platform);
  machine.sim.run({}, &log);
  const std::vector<CopyRecord> copies = log.copies();
  REQUIRE(copies.size() == 3);
  CHECK(copies[0].kind == CopyKind::kHostToDevice);
  CHECK(copies[0].bytes == 100);
  CHECK(copies[0].requested_ns == 5);
  CHECK(copies[0].start_ns == 5);
  CHECK(copies[0].released_ns == 105);
  CHECK(copies[0].end_ns == 115);
  CHECK(copies[0].from_engine == -1);  // CPUs have none
  CHECK(copies[0].to_engine == 0);
  CHECK(copies[1].start_ns == 105);  // the link and the engine were busy
  CHECK(copies[1].requested_ns == 5);
  CHECK(copies[1].end_ns == 215);
  CHECK(copies[1].to_engine == 0);
  CHECK(copies[2].kind == CopyKind::kDeviceToHost);
  CHECK(copies[2].start_ns == 220);
  CHECK(copies[2].end_ns == 280);
  CHECK(copies[2].from_engine == 0);
  CHECK(copies[2].to_engine == -1);
  CHECK(copy_kind_name(copies[2].kind) == "device to host");
}

TEST_CASE("a trace has the copies on the copy engines and on the links") {
  HostAndDevice machine;
  const auto trace = ChromeTrace::create({machine.sim.graph, machine.sim.platform});
  machine.sim.run({}, trace.get());
  const auto json = nlohmann::json::parse(trace->finish());
  size_t on_engines = 0;
  size_t on_links = 0;
  bool named = false;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "M" && event["args"]["name"] == "copy engine 0") {
      named = event["pid"] == 1;
    }
    if (event["ph"] != "X") {
      continue;
    }
    on_links += event["cat"] == "transfer" ? 1 : 0;
    if (event["cat"] == "copy") {
      ++on_engines;
      CHECK(event["pid"] == 1);
      if (event["ts"] == 0.105) {
        CHECK(event["dur"] == 0.1);
        CHECK(event["args"]["waited_us"] == 0.1);
        CHECK(event["args"]["kind"] == "host to device");
        CHECK(event["args"]["bytes"] == 100);
      }
    }
  }
  CHECK(named);
  CHECK(on_engines == 3);
  CHECK(on_links == 3);
}

TEST_CASE("no device copies more at once than it has engines, and engines one thing at a time") {
  size_t seen = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomCase random = random_case(seed, {}, 80);
    CopyLog log(random.platform);
    const auto result = simulate(random.input(), random.schedule, {}, &log);
    REQUIRE(result.ok());
    const std::vector<CopyRecord> copies = log.copies();
    CHECK(copies.size() == result->transfers);
    std::map<std::pair<DeviceId, int>, TimeNs> free_ns;
    Bytes bytes = 0;
    for (const CopyRecord& copy : copies) {
      bytes += copy.bytes;
      REQUIRE(copy.requested_ns <= copy.start_ns);
      REQUIRE(copy.start_ns <= copy.released_ns);
      REQUIRE(copy.released_ns <= copy.end_ns);
      for (const auto& [device, engine] :
           {std::pair(copy.from, copy.from_engine), std::pair(copy.to, copy.to_engine)}) {
        const DeviceSpec& spec = random.platform.device(device);
        INFO("seed " << seed << " device " << spec.name << " engine " << engine);
        CHECK((engine >= 0) == (spec.type != DeviceType::kCpu));
        if (engine < 0) {
          continue;
        }
        CHECK((spec.copy_engines == 0 || engine < spec.copy_engines));
        CHECK(free_ns[{device, engine}] <= copy.start_ns);
        free_ns[{device, engine}] = copy.released_ns;
        ++seen;
      }
    }
    CHECK(bytes == result->bytes_moved);
  }
  CHECK(seen > 1000);
}
