// The analysis of traces against sums done by hand.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "datasets/traces/trace_readers.h"
#include "report/recordings/analysis_views.h"
#include "report/recordings/diff_views.h"
#include "study/analysis/intervals.h"
#include "study/analysis/trace_diff.h"

namespace dfsim {
namespace {

// Builds a Kineto trace event by event.
class Events {
 public:
  Events& add(std::string_view category, std::string_view name, int pid, int tid, double ts,
              double dur, const std::string& args = "") {
    text_ += fmt::format(R"({}{{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},)"
                         R"("dur":{},"args":{{{}}}}})",
                         text_.empty() ? "" : ",", category, name, pid, tid, ts, dur, args);
    return *this;
  }
  Events& op(std::string_view name, double ts, double dur, int id) {
    return add("cpu_op", name, 1, 1, ts, dur, fmt::format(R"("External id":{})", id));
  }
  // A kernel or copy and the call that launches it.
  Events& launched(std::string_view category, std::string_view name, int stream, double call_ts,
                   double ts, double dur, int id) {
    const std::string args =
        fmt::format(R"("External id":{},"correlation":{})", id, ++correlation_);
    add("cuda_runtime", category == "kernel" ? "cudaLaunchKernel" : "cudaMemcpyAsync", 1, 1,
        call_ts, 2, args);
    return add(category, name, 0, stream, ts, dur,
               fmt::format(R"({},"device":0,"bytes":1000)", args));
  }
  Trace trace() const {
    auto read = chrome_trace_reader().read(TraceInput::of_content(
        "t", fmt::format(R"({{"schemaVersion":1,"traceEvents":[{}]}})", text_)));
    REQUIRE(read.ok());
    return std::move(read).value();
  }

 private:
  std::string text_;
  int correlation_ = 0;
};

TEST_CASE("sets of intervals") {
  CHECK(unite({{3, 4}, {0, 2}, {1, 3}}) == Intervals{{0, 4}});
  CHECK(subtract({{0, 10}}, {{2, 3}, {5, 20}}) == Intervals{{0, 2}, {3, 5}});
  CHECK(subtract({{0, 1}, {4, 6}}, {{0, 5}}) == Intervals{{5, 6}});
  CHECK(total_length({{0, 2}, {5, 6}}) == 3);
}

TEST_CASE("the four parts add up to the total") {
  // compute 10-20, 30-40; nccl 15-35 (10 of it alone); copy 38-50 (10 alone); idle 50-60; compute
  // 60-70.
  const TraceAnalysis a = analyze_trace(Events()
                                            .op("x", 0, 9, 1)
                                            .launched("kernel", "k1", 7, 1, 10, 10, 1)
                                            .launched("kernel", "ncclAllReduce", 8, 3, 15, 20, 1)
                                            .launched("kernel", "k2", 7, 4, 30, 10, 1)
                                            .launched("gpu_memcpy", "Memcpy HtoD", 9, 5, 38, 12, 1)
                                            .launched("kernel", "k3", 7, 55, 60, 10, 1)
                                            .trace());
  const Breakdown& b = a.breakdown;
  CHECK(b.computation_us == 30);
  CHECK(b.exposed_communication_us == 10);
  CHECK(b.exposed_copy_us == 10);
  CHECK(b.idle_us == 10);
  CHECK(b.total_us == 60);
  CHECK(b.communication_us == 20);
  CHECK(b.overlap() == 0.5);
  REQUIRE(a.copies.size() == 2);
  CHECK(a.copies[0].direction == CopyDirection::kHostToDevice);
  CHECK(a.copies[0].bytes == 1000);
  CHECK(a.copies[0].bytes_per_s == Approx(1000 / 12e-6));
}

TEST_CASE("work of no recorded operator is left out") {
  const TraceAnalysis a = analyze_trace(Events()
                                            .op("x", 0, 9, 1)
                                            .launched("kernel", "k1", 7, 1, 10, 10, 1)
                                            .launched("kernel", "other", 7, 40, 50, 10, 99)
                                            .trace());
  CHECK(a.unlinked_work == 1);
  CHECK(a.breakdown.total_us == 10);
}

TEST_CASE("idle time has its cause") {
  // k2 is launched after k1 ends: host. k3 in time and 0.02 us later: kernel gap. k4 in time and 5
  // us later: other.
  const TraceAnalysis a = analyze_trace(Events()
                                            .op("x", 0, 90, 1)
                                            .launched("kernel", "k1", 7, 0, 10, 10, 1)
                                            .launched("kernel", "k2", 7, 25, 30, 10, 1)
                                            .launched("kernel", "k3", 7, 28, 40.02, 9.98, 1)
                                            .launched("kernel", "k4", 7, 32, 55, 5, 1)
                                            .trace());
  REQUIRE(a.queues.size() == 1);
  CHECK(a.queues[0].idle_us[0] == Approx(10));
  CHECK(a.queues[0].idle_us[1] == Approx(0.02));
  CHECK(a.queues[0].idle_us[2] == Approx(5));
  CHECK(a.queues[0].max_length == 2);
  // Lengths 1 (0-10), 0 (10-25), 1 (25-28), 2 (28-30), 1 (30-32), 2 (32-40.02), 1 (to 55).
  CHECK(a.queues[0].mean_length == Approx((10 + 3 + 2 * 2 + 2 + 2 * 8.02 + 14.98) / 55.0));
  CHECK(a.launches.call.count == 4);
  CHECK(a.launches.delay.median_us == Approx((8 + 10.02) / 2));
}

TEST_CASE("operators have their own work only, and their own host time") {
  const TraceAnalysis a = analyze_trace(Events()
                                            .op("outer", 0, 50, 1)
                                            .op("inner", 10, 20, 2)
                                            .launched("kernel", "k1", 7, 12, 20, 4, 2)
                                            .launched("kernel", "k2", 7, 16, 24, 6, 2)
                                            .launched("kernel", "k3", 7, 35, 40, 1, 1)
                                            .trace());
  REQUIRE(a.ops.size() == 2);
  CHECK(a.ops[0].name == "inner");
  CHECK(a.ops[0].time.total_us == 10);
  CHECK(a.ops[0].calls == 1);
  CHECK(a.ops[0].host_us == 20);
  CHECK(a.ops[1].name == "outer");
  CHECK(a.ops[1].time.total_us == 1);
  CHECK(a.ops[1].host_us == 30);
  CHECK(a.ops[0].share == Approx(10.0 / 11));
  REQUIRE(a.kernels.size() == 3);
  CHECK(a.kernels[0].name == "k2");
}

TEST_CASE("the critical path: other work outstanding, and long gaps, as published") {
  // When k1 begins, k2 is launched already: what k1 waited for is not known.
  const Trace outstanding = Events()
                                .op("x", 0, 12, 1)
                                .launched("kernel", "k1", 7, 8, 12, 100, 1)
                                .launched("kernel", "k2", 7, 10, 113, 5, 1)
                                .trace();
  CHECK(find_trace_path(outstanding).length_us == 100 + 1 + 5);
  // k3 begins 1501 us after k2, k2 1499 us after k1: only the shorter gap is one of kernels.
  const Trace gaps = Events()
                         .op("x", 0, 20, 1)
                         .launched("kernel", "k1", 7, 8, 12, 10, 1)
                         .launched("kernel", "k2", 7, 13, 1521, 10, 1)
                         .launched("kernel", "k3", 7, 14, 3032, 10, 1)
                         .trace();
  const TracePath path = find_trace_path(gaps);
  CHECK(path.length_us == 8 + 4 + 10 + 1499 + 10);
  CHECK(path.class_us[static_cast<size_t>(PathClass::kKernelGap)] == 1499);
}

TEST_CASE("the critical path goes where the time is") {
  // Launch at 8; kernel 12-112 with nothing outstanding: launch overhead 4 from the call's begin,
  // and then 100 of work. The second kernel follows in the queue with a gap of 1.
  const Trace trace = Events()
                          .op("x", 0, 16, 1)
                          .launched("kernel", "k1", 7, 8, 12, 100, 1)
                          .launched("kernel", "k2", 7, 13, 113, 5, 1)
                          .trace();
  const TracePath path = find_trace_path(trace);
  CHECK(path.length_us == 8 + 4 + 100 + 1 + 5);
  CHECK(path.class_us[static_cast<size_t>(PathClass::kHost)] == 8);
  CHECK(path.class_us[static_cast<size_t>(PathClass::kLaunch)] == 4);
  CHECK(path.class_us[static_cast<size_t>(PathClass::kCompute)] == 105);
  CHECK(path.class_us[static_cast<size_t>(PathClass::kKernelGap)] == 1);
  double sum = 0;
  for (const double us : path.class_us) {
    sum += us;
  }
  CHECK(sum == path.length_us);
}

TEST_CASE("the allocator's peak and what makes it") {
  std::string events;
  const auto memory = [&events](double ts, int64_t address, int64_t bytes, int64_t total) {
    events += fmt::format(R"(,{{"ph":"i","name":"[memory]","cat":"cpu_instant_event","pid":1,)"
                          R"("tid":1,"ts":{},"args":{{"Device Type":1,"Device Id":0,"Addr":{},)"
                          R"("Bytes":{},"Total Allocated":{},"Total Reserved":4000}}}})",
                          ts, address, bytes, total);
  };
  memory(1, 100, 1000, 1000);
  memory(2, 200, 500, 1500);
  memory(3, 100, -1000, 500);
  memory(12, 300, 2500, 3000);
  memory(13, 300, -2500, 500);
  const std::string ops =
      R"({"ph":"X","cat":"cpu_op","name":"small","pid":1,"tid":1,"ts":0,"dur":5},)"
      R"({"ph":"X","cat":"cpu_op","name":"big","pid":1,"tid":1,"ts":10,"dur":5})";
  auto read = chrome_trace_reader().read(TraceInput::of_content(
      "t", fmt::format(R"({{"schemaVersion":1,"traceEvents":[{}{}]}})", ops, events)));
  REQUIRE(read.ok());
  const TraceAnalysis a = analyze_trace(*read);
  REQUIRE(a.memory.size() == 1);
  CHECK(a.memory[0].peak_bytes == 3000);
  CHECK(a.memory[0].peak_us == 12);
  CHECK(a.memory[0].fragmentation == 0.25);
  REQUIRE(a.memory[0].at_peak.size() == 2);
  CHECK(a.memory[0].at_peak[0].allocated_by == "big");
  CHECK(a.memory[0].at_peak[1].allocated_by == "small");
  CHECK(a.memory[0].at_peak[1].bytes == 500);
}

TEST_CASE("the schema of the JSON holds") {
  const Trace trace = Events().op("x", 0, 9, 1).launched("kernel", "k", 7, 1, 10, 10, 1).trace();
  const auto json = nlohmann::json::parse(analyses_json({analyze_trace(trace)}, {trace}));
  CHECK(json["schema"] == "dfsim.analyze/1");
  CHECK(json["ranks"].empty());
  const auto& one = json["traces"][0];
  for (const char* key :
       {"path",     "format", "device_name", "rank",          "events",   "spans",
        "start_us", "end_us", "on_device",   "unlinked_work", "warnings", "breakdown",
        "steps",    "queues", "launches",    "operators",     "nodes",    "kernels",
        "copies",   "waits",  "memory",      "critical_path"}) {
    INFO(key);
    CHECK(one.contains(key));
  }
  CHECK(one["breakdown"]["total_ms"] == 0.01);
  CHECK(one["kernels"][0]["time"]["median_us"] == 10);
}

TEST_CASE("two runs: slower, missing, new") {
  const TraceAnalysis a = analyze_trace(Events()
                                            .op("mm", 0, 9, 1)
                                            .launched("kernel", "k1", 7, 1, 10, 60, 1)
                                            .op("gone", 10, 9, 2)
                                            .launched("kernel", "k2", 7, 12, 80, 40, 2)
                                            .trace());
  const TraceAnalysis b = analyze_trace(Events()
                                            .op("mm", 0, 9, 1)
                                            .launched("kernel", "k1", 7, 1, 10, 80, 1)
                                            .op("new", 10, 9, 2)
                                            .launched("kernel", "k3", 7, 12, 95, 5, 2)
                                            .trace());
  const TraceDiff diff = diff_traces(a, b, false);
  CHECK(diff.ops_a_us == 100);
  CHECK(diff.ops_b_us == 85);
  REQUIRE(diff.rows.size() == 3);
  CHECK(diff.rows[0].name == "gone");
  CHECK(diff.rows[0].calls_b == 0);
  CHECK(diff.rows[0].change == Approx(-0.4));
  CHECK(diff.rows[1].name == "mm");
  CHECK(diff.rows[1].change == Approx(0.2));
  CHECK(diff.rows[2].name == "new");
  CHECK(diff.rows[2].calls_a == 0);
  const std::string text = diff_text(diff, 5);
  CHECK(text.find("Only in A") != std::string::npos);
  CHECK(text.find("Only in B") != std::string::npos);
  CHECK(nlohmann::json::parse(diff_json(diff))["rows"].size() == 3);
}

TEST_CASE("ranks: the one that computes longer than the others") {
  std::vector<TraceAnalysis> traces(3);
  for (size_t i = 0; i < 3; ++i) {
    traces[i].rank = static_cast<int64_t>(2 - i);
    traces[i].breakdown.computation_us = i == 1 ? 150 : 100;
  }
  const std::vector<RankRow> rows = compare_ranks(traces);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].rank == 0);
  CHECK(rows[1].over_median == Approx(0.5));
  CHECK(compare_ranks({TraceAnalysis()}).empty());
}

TEST_CASE("ranks: who comes last to a collective is in it for the shortest time") {
  std::vector<TraceAnalysis> traces(2);
  traces[0].rank = 0;
  traces[1].rank = 1;
  traces[0].collectives_us = {10, 4, 8};
  traces[1].collectives_us = {3, 9, 5};
  const std::vector<RankRow> rows = compare_ranks(traces);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].collectives == 3);
  CHECK(rows[0].came_last == 1);
  CHECK(rows[0].waited_us == 7 + 3);
  CHECK(rows[1].came_last == 2);
  CHECK(rows[1].waited_us == 5);
  // Of different runs: nothing to compare.
  traces[1].collectives_us.pop_back();
  CHECK(compare_ranks(traces)[0].collectives == 0);
}

TEST_CASE("work that checkpointing does again is told apart") {
  const TraceAnalysis a = analyze_trace(
      Events()
          .op("mm", 0, 9, 1)
          .launched("kernel", "k1", 7, 1, 10, 20, 1)
          .add("python_function", "torch/utils/checkpoint.py(9): recompute_fn", 1, 1, 40, 30)
          .op("mm", 41, 9, 2)
          .launched("kernel", "k1", 7, 42, 50, 15, 2)
          .launched("gpu_memset", "Memset", 7, 45, 66, 2, 2)
          .trace());
  CHECK(a.recompute.items == 1);
  CHECK(a.recompute.again.computation_us == 15);
  CHECK(a.recompute.first.computation_us == 20);
  CHECK(a.breakdown.computation_us == 20 + 15 + 2);
}

}  // namespace
}  // namespace dfsim
