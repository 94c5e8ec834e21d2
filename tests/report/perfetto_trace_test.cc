// Perfetto's format says what the JSON says, in less than a quarter of the bytes.
#include "report/trace/perfetto_trace.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <tuple>
#include <vector>

#include "base/io/proto_wire.h"
#include "base/io/text_file.h"
#include "datasets/traces/trace_reader.h"
#include "report/trace/trace_file.h"
#include "study/analysis/trace_analysis.h"
#include "tests/report/small_prediction.h"
#include "tests/sim/random_case.h"

namespace dfsim {
namespace {

using Row = std::tuple<TimeNs, TimeNs, std::string, std::string, SpanKind, Bytes, std::string>;

TimeNs ns(double us) { return static_cast<TimeNs>(std::llround(us * 1000)); }

// The rows that both formats share: spans with their kinds and devices. Only one format has lanes
// for shared links.
std::vector<Row> rows_of(const Trace& trace) {
  std::vector<Row> rows;
  for (const Span& span : trace.spans) {
    const Track& track = trace.track(span.track);
    // Dispatches and transfers have the op's name, with a word before it in one of them.
    std::string name = trace.text(span.name);
    for (const std::string_view word : {"dispatch ", "output of "}) {
      name = name.starts_with(word) ? name.substr(word.size()) : name;
    }
    rows.emplace_back(ns(span.start_us), ns(span.end_us), name, trace.text(span.detail), span.kind,
                      span.bytes, track.process + "/" + track.name);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

Trace read(const std::string& content) {
  auto trace = read_trace_content("t", content);
  INFO((trace.ok() ? "" : trace.status().message()));
  REQUIRE(trace.ok());
  return std::move(trace).value();
}

struct Written {
  std::string json;
  std::string perfetto;
};

template <typename Run>
Written write(const ChromeTrace::Subject& subject, const Run& run) {
  Written written;
  const auto json = ChromeTrace::create(subject);
  run(json.get());
  written.json = json->finish();
  const auto perfetto = PerfettoTrace::create(
      subject, [&written](std::string_view piece) { written.perfetto += piece; });
  run(perfetto.get());
  perfetto->finish();
  return written;
}

TEST_CASE("Perfetto trace: has the same spans, arrows and memory as the Chrome trace") {
  const Graph graph = small_graph();
  auto pruned = prune(graph);
  const auto workload = make_workload(pruned->graph);
  const Platform platform = small_platform();
  const auto model = make_sol_model();
  const auto costs = make_cost_table(workload->rows, workload->weight_bytes, platform, *model);
  const Schedule schedule = single_device_schedule(workload->graph, 1, DeviceId(size_t{0}));
  const Written written = write(
      {workload->graph, platform, &pruned->graph, &*workload, &*costs}, [&](SimListener* listener) {
        REQUIRE(simulate({workload->graph, *costs, platform}, schedule, {}, listener).ok());
      });
  const Trace json = read(written.json);
  const Trace perfetto = read(written.perfetto);
  CHECK(json.format == "dfsim");
  CHECK(perfetto.format == "perfetto");
  REQUIRE(perfetto.spans.size() == 2);
  CHECK(perfetto.text(perfetto.spans[0].name) == "MatMul");
  CHECK(perfetto.text(perfetto.spans[0].detail) == "MatMul_op");
  CHECK(rows_of(json) == rows_of(perfetto));
  // Only the last of simultaneous changes is written, and the greatest before it.
  const auto peak = [](const Trace& trace) {
    const TraceAnalysis analysis = analyze_trace(trace);
    REQUIRE(analysis.memory.size() == 1);
    return std::tuple(analysis.memory[0].peak_bytes, ns(analysis.memory[0].peak_us));
  };
  CHECK(peak(perfetto) == peak(json));
  CHECK(perfetto.memory.size() <= json.memory.size());
  CHECK(perfetto.memory.back().allocated == json.memory.back().allocated);
  CHECK(perfetto.memory.back().device == json.memory.back().device);
  CHECK(perfetto.flows.size() == json.flows.size());
}

TEST_CASE(
    "Perfetto trace: agrees with the Chrome trace on random runs with copies and stays small") {
  size_t json_bytes = 0;
  size_t perfetto_bytes = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    INFO(seed);
    const RandomCase random = random_case(seed, {}, 80);
    const Written written =
        write({random.input().graph, random.platform}, [&](SimListener* listener) {
          REQUIRE(simulate(random.input(), random.schedule, {}, listener).ok());
        });
    json_bytes += written.json.size();
    perfetto_bytes += written.perfetto.size();
    CHECK(rows_of(read(written.json)) == rows_of(read(written.perfetto)));
  }
  CHECK(perfetto_bytes * 4 < json_bytes);
}

TEST_CASE("Traces: slices of one thread do not overlap, which Perfetto would drop") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    INFO(seed);
    const RandomCase random = random_case(seed, {}, 80);
    const Written written =
        write({random.input().graph, random.platform}, [&](SimListener* listener) {
          REQUIRE(simulate(random.input(), random.schedule, {}, listener).ok());
        });
    for (const std::string& content : {written.json, written.perfetto}) {
      const Trace trace = read(content);
      std::vector<std::tuple<size_t, TimeNs, TimeNs>> slices;  // track, start, end
      for (const Span& span : trace.spans) {
        slices.emplace_back(span.track.index(), ns(span.start_us), ns(span.end_us));
      }
      std::sort(slices.begin(), slices.end());
      for (size_t i = 1; i < slices.size(); ++i) {
        const auto& [track, start, end] = slices[i];
        const bool same_track = track == std::get<0>(slices[i - 1]);
        CHECK((!same_track || start >= std::get<2>(slices[i - 1])));
      }
    }
  }
}

TEST_CASE("Perfetto trace: a truncated file is read up to the cut") {
  const RandomCase random = random_case(3, {}, 20);
  const Written written =
      write({random.input().graph, random.platform}, [&](SimListener* listener) {
        REQUIRE(simulate(random.input(), random.schedule, {}, listener).ok());
      });
  for (size_t length = 0; length < written.perfetto.size(); ++length) {
    const auto trace = read_trace_content("t", written.perfetto.substr(0, length));
    if (!trace.ok()) {
      CHECK(trace.status().message().find('\n') == std::string::npos);
    }
  }
  const auto cut = read_trace_content("t", written.perfetto.substr(0, written.perfetto.size() - 3));
  REQUIRE(cut.ok());
  CHECK_FALSE(cut->warnings.empty());
}

TEST_CASE("Perfetto trace: reads names and clocks of another program's events") {
  // A sequence with the absolute clock, names in the events, a slice that never ends.
  const auto packet = [](uint64_t time_ns, const ProtoWriter& event) {
    return ProtoWriter().varint(8, time_ns).varint(10, 5).message(11, event);
  };
  ProtoWriter thread;
  thread.varint(1, 3).varint(2, 4).bytes(5, "worker");
  ProtoWriter track;
  track.varint(1, 9).message(4, thread);
  ProtoWriter file;
  file.message(1, ProtoWriter().varint(10, 5).message(60, track));
  file.message(1, packet(1000, ProtoWriter().varint(9, 1).varint(11, 9).bytes(23, "outer")));
  file.message(1, packet(2000, ProtoWriter().varint(9, 1).varint(11, 9).bytes(23, "inner")));
  file.message(1, packet(3000, ProtoWriter().varint(9, 2).varint(11, 9)));
  const auto trace = read_trace_content("t", file.text());
  REQUIRE(trace.ok());
  REQUIRE(trace->spans.size() == 2);
  CHECK(trace->text(trace->spans[0].name) == "outer");
  CHECK(trace->spans[0].end_us == 3);
  CHECK(trace->spans[1].start_us == 2);
  CHECK(trace->spans[1].parent == SpanId(size_t{0}));
  CHECK(trace->track(trace->spans[0].track).name == "worker");
  CHECK(trace->warnings.size() == 1);
}

TEST_CASE("Trace files: the name of the file selects the format") {
  const RandomCase random = random_case(1, {}, 10);
  for (const std::string name : {"t.json", "t.pftrace", "t.pftrace.gz", "t.json.gz"}) {
    INFO(name);
    const std::string path = (std::filesystem::temp_directory_path() / ("dfsim_" + name)).string();
    auto file = open_trace_file(path, {random.input().graph, random.platform});
    REQUIRE(file.ok());
    REQUIRE(simulate(random.input(), random.schedule, {}, (*file)->listener()).ok());
    REQUIRE((*file)->close().ok());
    const auto trace = read_trace(path);
    REQUIRE(trace.ok());
    CHECK(trace->format == (name.find("json") != std::string::npos ? "dfsim" : "perfetto"));
    std::filesystem::remove(path);
  }
  CHECK_FALSE(open_trace_file("/nowhere/t.pftrace", {random.input().graph, random.platform}).ok());
}

}  // namespace
}  // namespace dfsim
