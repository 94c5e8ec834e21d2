// Results that others published for their traces, with DFSIM_SHARED: TraceLens's tables (equal to
// every printed digit) and HolisticTraceAnalysis's critical path.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/io/text_file.h"
#include "base/text.h"
#include "datasets/traces/trace_reader.h"
#include "study/analysis/trace_analysis.h"

namespace dfsim {
namespace {

std::string shared_traces() {
  const char* shared = std::getenv("DFSIM_SHARED");
  return shared == nullptr ? "" : std::string(shared) + "/traces/";
}

std::vector<std::vector<std::string>> read_csv(const std::string& path) {
  auto reader = LineReader::open(path);
  REQUIRE(reader.ok());
  std::vector<std::vector<std::string>> rows;
  std::string_view line;
  while (reader->next(&line).value()) {
    rows.push_back(split(line, ','));
  }
  return rows;
}

TEST_CASE("TraceLens's device timelines, to every printed digit") {
  const std::string root = shared_traces();
  if (root.empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  int compared = 0;
  for (const auto& folder : std::filesystem::directory_iterator(root + "tracelens_oracles")) {
    const std::string name = folder.path().filename().string();
    if (name.ends_with("_recompute")) {
      continue;  // told apart by Python frames, which is TraceLens's own matter
    }
    INFO(name);
    const auto trace = read_trace(root + "pytorch_kineto_tracelens/" + name + ".json.gz");
    REQUIRE(trace.ok());
    const TraceAnalysis analysis = analyze_trace(*trace);
    const Breakdown& b = analysis.breakdown;
    const std::map<std::string, double> ours = {{"computation_time", b.computation_us},
                                                {"exposed_comm_time", b.exposed_communication_us},
                                                {"exposed_memcpy_time", b.exposed_copy_us},
                                                {"busy_time", b.busy_us()},
                                                {"idle_time", b.idle_us},
                                                {"total_time", b.total_us},
                                                {"total_comm_time", b.communication_us},
                                                {"total_memcpy_time", b.copy_us}};
    for (const auto& row : read_csv(folder.path().string() + "/gpu_timeline.csv")) {
      const auto it = ours.find(row[0]);
      if (it != ours.end()) {
        INFO(row[0]);
        CHECK(it->second / 1000 == std::strtod(row[1].c_str(), nullptr));
        CHECK(it->second / b.total_us * 100 ==
              Approx(std::strtod(row[2].c_str(), nullptr)).epsilon(1e-14));
        ++compared;
      }
    }
  }
  CHECK(compared == 5 * 8);
}

TEST_CASE("TraceLens's operator tables, to every printed digit") {
  const std::string root = shared_traces();
  if (root.empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  int compared = 0;
  for (const auto& folder : std::filesystem::directory_iterator(root + "tracelens_oracles")) {
    const std::string name = folder.path().filename().string();
    if (name.ends_with("_recompute")) {
      continue;
    }
    INFO(name);
    const auto trace = read_trace(root + "pytorch_kineto_tracelens/" + name + ".json.gz");
    REQUIRE(trace.ok());
    const TraceAnalysis analysis = analyze_trace(*trace);
    std::map<std::string, const OpRow*> ours;
    for (const OpRow& row : analysis.ops) {
      ours[row.name] = &row;
    }
    for (const auto& row : read_csv(folder.path().string() + "/ops_summary.csv")) {
      if (row[0] == "name") {
        continue;
      }
      INFO(row[0]);
      REQUIRE(ours.contains(row[0]));
      CHECK(ours[row[0]]->time.total_us == std::strtod(row[1].c_str(), nullptr));
      CHECK(ours[row[0]]->calls == std::atoll(row[5].c_str()));
      ++compared;
    }
  }
  CHECK(compared > 40);
}

// Work that checkpointing does again, apart from the rest; this version of TraceLens left memsets
// out of both.
TEST_CASE("TraceLens's split of recomputation, to every printed digit") {
  const std::string root = shared_traces();
  if (root.empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  const auto trace =
      read_trace(root + "pytorch_kineto_tracelens/mi300__resnet_act_checkpoint.json.gz");
  REQUIRE(trace.ok());
  const RecomputeSplit split = analyze_trace(*trace).recompute;
  int compared = 0;
  for (const auto& row : read_csv(root + "tracelens_oracles/mi300__resnet_act_checkpoint_recompute/"
                                         "gpu_timeline.csv")) {
    if (row[0] == "type") {
      continue;
    }
    const Breakdown& b = row[3] == "True" ? split.again : split.first;
    const std::map<std::string, double> ours = {{"computation_time", b.computation_us},
                                                {"exposed_comm_time", b.exposed_communication_us},
                                                {"exposed_memcpy_time", b.exposed_copy_us},
                                                {"busy_time", b.busy_us()},
                                                {"idle_time", b.idle_us},
                                                {"total_time", b.total_us},
                                                {"total_comm_time", b.communication_us},
                                                {"total_memcpy_time", b.copy_us}};
    INFO(row[0] << " " << row[3]);
    REQUIRE(ours.contains(row[0]));
    CHECK(ours.at(row[0]) / 1000 == std::strtod(row[1].c_str(), nullptr));
    ++compared;
  }
  CHECK(compared == 16);
}

// The published overlay marks the spans on the path and lists its edges.
TEST_CASE("HolisticTraceAnalysis's critical path") {
  const std::string root = shared_traces();
  if (root.empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  const auto text = read_text_file(
      root +
          "hta_derived/critical_path__end_to_end__simple_add__output__overlaid_critical_path_"
          "trace.json.gz",
      int64_t{1} << 30);
  REQUIRE(text.ok());
  using Key = std::tuple<double, double, std::string>;
  std::set<Key> published;
  double launch_us = 0;
  const auto overlay = nlohmann::json::parse(*text);
  for (const auto& event : overlay["traceEvents"]) {
    if (event["ph"] == "X" && event.contains("args") && event["args"].value("critical", 0) == 1) {
      published.emplace(event["ts"], event["dur"], event["name"]);
    }
    if (event["ph"] == "s" && event.value("cat", "") == "critical_path" &&
        event["args"]["type"] == "critical_path_kernel_launch_delay") {
      launch_us += event["args"]["weight"].get<double>();
    }
  }
  const auto trace = read_trace(
      root + "pytorch_kineto/critical_path__end_to_end__simple_add__input__trace.json.gz");
  REQUIRE(trace.ok());
  const TracePath path = find_trace_path(*trace);
  size_t both = 0;
  for (const SpanId id : path.spans) {
    const Span& span = trace->span(id);
    both += published.count({span.start_us, span.duration_us(), trace->text(span.name)});
  }
  CHECK(published.size() == 624);
  CHECK(both == 624);
  CHECK(path.spans.size() == 624);
  CHECK(path.class_us[static_cast<size_t>(PathClass::kLaunch)] == launch_us);
}

// The sums were made from the file with a few lines of Python.
TEST_CASE("rocprofv3's kernels") {
  const std::string root = shared_traces();
  if (root.empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  const auto trace = read_trace(root + "rocprofv3_json/908_results.json.gz");
  REQUIRE(trace.ok());
  CHECK(trace->format == "rocprofv3");
  const TraceAnalysis analysis = analyze_trace(*trace);
  CHECK(analysis.spans == 43915);
  CHECK(analysis.breakdown.computation_us / 1000 == Approx(281.681933));
  CHECK(analysis.breakdown.exposed_communication_us / 1000 == Approx(3951.430401));
  CHECK(analysis.breakdown.total_us / 1000 == Approx(15122.023494));
}

TEST_CASE("every sample is read or refused with one line") {
  const std::string root = shared_traces();
  if (root.empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  int read = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    if (!file.is_regular_file()) {
      continue;
    }
    INFO(file.path());
    const auto trace = read_trace(file.path().string());
    if (!trace.ok()) {
      CHECK(trace.status().message().find('\n') == std::string::npos);
      continue;
    }
    ++read;
    const Breakdown b = analyze_trace(*trace).breakdown;
    CHECK(b.idle_us >= -1e-3);
    CHECK(b.computation_us + b.exposed_communication_us + b.exposed_copy_us + b.idle_us ==
          Approx(b.total_us));
  }
  CHECK(read > 80);
}

// Sums made from the files with a few lines of Python and the sqlite3 and protobuf that it has.
TEST_CASE("samples of the binary formats") {
  const std::string root = shared_traces();
  if (root.empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  const auto check = [&root](const std::string& path, std::string_view format, size_t spans,
                             double kernels_us) {
    INFO(path);
    const auto trace = read_trace(root + path);
    INFO((trace.ok() ? "" : trace.status().message()));
    REQUIRE(trace.ok());
    CHECK(trace->format == format);
    CHECK(trace->spans.size() == spans);
    double sum = 0;
    for (const Span& span : trace->spans) {
      sum += span.kind == SpanKind::kKernel ? span.duration_us() : 0;
    }
    CHECK(sum == Approx(kernels_us));
  };
  check("nsys_sqlite/perlmutter-cloverleaf-cuda.sqlite", "nsys", 5951, 294404.54);
  check("nsys_sqlite/saxpy-mpi-cuda_nsys_perlmutter0.sqlite", "nsys", 137, 88573.48);
  check("xplane/TraceLens__jax_te_fused_attn_934987a2fc2f.xplane.pb", "xplane", 1992, 12133.585);
  check("xplane/TraceLens__chi-mi300x-013.ord.vultr.cpe.ice.amd.com.xplane.pb", "xplane", 6024,
        3586.493);
  check("xplane/TraceLens__tw003.xplane.pb", "xplane", 3650, 28137.077);
  check("pytorch_execution_trace/param__linear_et.json.gz", "pytorch-et", 928, 0);
  check("pytorch_execution_trace/param__1.1.0-chakra.0.0.4__resnet_2gpu_et.json.gz", "pytorch-et",
        14389, 0);
  const auto kernel =
      read_trace(root + "ctf_lttng/tests/data/ctf-traces/succeed/lttng-tracefile-rotation");
  REQUIRE(kernel.ok());
  CHECK(kernel->format == "ctf");
  CHECK(kernel->spans.size() > 1000);
}

}  // namespace
}  // namespace dfsim
