#include "report/trace/chrome_trace.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/report/small_prediction.h"

namespace dfsim {
namespace {

using Json = nlohmann::json;

std::vector<Json> events_of(const Json& trace, const std::string& phase) {
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) {
      events.push_back(event);
    }
  }
  return events;
}

TEST_CASE("a trace holds a slice per op, named tracks, arrows along data and a memory counter") {
  const Json trace = Json::parse(small_prediction().trace);
  const auto slices = events_of(trace, "X");
  REQUIRE(slices.size() == 2);
  CHECK(slices[0]["name"] == "MatMul_op");
  CHECK(slices[0]["cat"] == "matmul");
  CHECK(slices[0]["ts"] == 0.0);
  CHECK(slices[0]["dur"] == 0.176);
  CHECK(slices[0]["args"]["bound"] == "memory");
  CHECK(slices[1]["ts"] == 0.176);

  std::map<std::string, int> names;
  for (const Json& event : events_of(trace, "M")) {
    ++names[event["args"]["name"].get<std::string>()];
  }
  CHECK(names["gpu0 (Toy)"] == 1);
  CHECK(names["queue 0"] == 1);

  const auto starts = events_of(trace, "s");
  const auto ends = events_of(trace, "f");
  REQUIRE(starts.size() == 1);
  REQUIRE(ends.size() == 1);
  CHECK(starts[0]["id"] == ends[0]["id"]);
  // The arrow leaves inside the producer's slice and lands inside the consumer's.
  CHECK(starts[0]["ts"] == 0.175);
  CHECK(ends[0]["ts"] == 0.176);

  const auto counters = events_of(trace, "C");
  REQUIRE_FALSE(counters.empty());
  double peak = 0;
  for (const Json& event : counters) {
    peak = std::max(peak, event["args"]["bytes"].get<double>());
  }
  CHECK(peak == 128 + 64);
}

TEST_CASE("the host's dispatches are slices of their own process") {
  const Graph graph = small_graph();
  const auto workload = make_workload(graph);
  REQUIRE(workload.ok());
  const Platform platform = small_platform();
  const auto trace = ChromeTrace::create({workload->graph, platform, &graph, nullptr, nullptr});
  trace->on_task_dispatched({9000, 5000, TaskId(size_t{0}), 0, DeviceId(size_t{0}), 0});
  trace->on_task_dispatched({9000, 9000, TaskId(size_t{1}), 0, DeviceId(size_t{0}), 0});  // free
  const Json json = Json::parse(trace->finish());
  const auto slices = events_of(json, "X");
  REQUIRE(slices.size() == 1);
  CHECK(slices[0]["name"] == "dispatch MatMul_op");
  CHECK(slices[0]["cat"] == "dispatch");
  CHECK(slices[0]["ts"] == 5.0);
  CHECK(slices[0]["dur"] == 4.0);
  CHECK(slices[0]["args"]["device"] == "gpu0");
  std::map<std::string, Json> names;
  for (const Json& event : events_of(json, "M")) {
    names[event["args"]["name"].get<std::string>()] = event["pid"];
  }
  CHECK(names["host"] == slices[0]["pid"]);
  CHECK(names["dispatch 0"] == slices[0]["pid"]);
}

TEST_CASE("slices of one queue never overlap") {
  const Json trace = Json::parse(small_prediction().trace);
  std::map<std::pair<int, int>, double> end_of;
  for (const Json& slice : events_of(trace, "X")) {
    double& end = end_of[{slice["pid"].get<int>(), slice["tid"].get<int>()}];
    CHECK(slice["ts"].get<double>() >= end - 1e-9);
    end = slice["ts"].get<double>() + slice["dur"].get<double>();
  }
}

}  // namespace
}  // namespace dfsim
