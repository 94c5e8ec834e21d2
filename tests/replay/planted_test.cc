// Advice on recorded runs in which a problem was planted, with DFSIM_SHARED: the first advice is
// about the planted problem, and its simulated gain is what removing the problem saves.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "datasets/traces/trace_reader.h"
#include "study/replay/advice.h"
#include "study/replay/replay_path.h"
#include "tests/replay/kineto_events.h"

namespace dfsim {
namespace {

struct Planted {
  const char* file;
  const char* kind;    // of the first advice
  double least_share;  // of the run that removing the problem saves
  double most_share;
};

// The shares that the README of the traces gives, in words there.
constexpr Planted kPlanted[] = {
    {"placement.json", "placement", 0.42, 0.58},
    {"alloc.json", "allocator-growth", 0.57, 0.77},
    {"alloc2.json", "allocator-growth", 0.57, 0.80},  // initialisation besides
    {"launch.json", "launch-overhead", 0.70, 0.84},
    {"input.json", "input-stalls", 0.57, 0.77},
    {"sync.json", "synchronisation", 0.17, 0.40},
    {"tf_placement.json", "placement", 0.57, 0.77},
    // Per session of 6.75 ms: the operator on the host takes 5 ms, which a kernel of its own would
    // not take, and the copies around it and the waits for them 0.8 ms.
    {"ctf/face_cudaTracer", "placement", 0.63, 0.85},
    {"ctf/face_hcTracer", "placement", 0.63, 0.85},
    {"ctf/face_cuptiTracer", "placement", 0.63, 0.85},
    // Each turn takes 13.17 ms: 6.85 of them pass in read(), and another program takes 3.
    {"ctf/sys", "blocking-calls", 0.47, 0.57},
    // Each step takes 10 ms, in 5 of which a tensor travels to the second worker.
    {"ctf/dist", "worker-placement", 0.42, 0.58},
};

TEST_CASE("Advice: finds the planted problem first, with what removing it saves") {
  const char* shared = std::getenv("DFSIM_SHARED");
  if (shared == nullptr) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  for (const Planted& planted : kPlanted) {
    INFO(planted.file);
    const auto trace = read_trace(std::string(shared) + "/traces/planted/" + planted.file);
    REQUIRE(trace.ok());
    TraceAnalysis analysis = analyze_trace(*trace);
    REQUIRE(advise(*trace, &analysis).ok());
    REQUIRE_FALSE(analysis.advice.list.empty());
    const Advice& first = analysis.advice.list.front();
    CHECK(first.kind == planted.kind);
    const double saved = 1 - first.after_us / first.before_us;
    CHECK(saved >= planted.least_share);
    CHECK(saved <= planted.most_share);
    for (const Advice& advice : analysis.advice.list) {
      const bool graph_of_launches = advice.kind == "launch-overhead";
      CHECK(graph_of_launches == (std::string_view(planted.kind) == "launch-overhead"));
    }
  }
}

TEST_CASE("Analysis: an operator's time on the host divides into running, preempted and blocked") {
  const char* shared = std::getenv("DFSIM_SHARED");
  if (shared == nullptr) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  const auto trace = read_trace(std::string(shared) + "/traces/planted/ctf/sys");
  REQUIRE(trace.ok());
  TraceAnalysis analysis = analyze_trace(*trace);
  REQUIRE(analysis.host_states.size() == 2);
  const HostStateRow& read = analysis.host_states[0];
  CHECK(read.name == "ReadFile");
  CHECK(read.blocked_us == Approx(20 * 6850).epsilon(0.01));
  CHECK(read.blocked_in == "read");
  CHECK(read.preempted_us == 0);
  const HostStateRow& product = analysis.host_states[1];
  CHECK(product.name == "MatMul");
  CHECK(product.preempted_us == Approx(20 * 3000));
  CHECK(product.preempted_by == "backup");
  CHECK(product.blocked_us == 0);
  REQUIRE(advise(*trace, &analysis).ok());
  bool found = false;
  for (const Advice& advice : analysis.advice.list) {
    found = found ||
            (advice.kind == "preemption" && advice.insight.find("backup") != std::string::npos &&
             advice.before_us - advice.after_us == Approx(20 * 3000).epsilon(0.02));
  }
  CHECK(found);
}

TEST_CASE("CTF: copies whose ends have other names last as long as recorded") {
  const char* shared = std::getenv("DFSIM_SHARED");
  if (shared == nullptr) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  const auto trace = read_trace(std::string(shared) + "/traces/planted/ctf/mini");
  REQUIRE(trace.ok());
  int copies = 0;
  for (const Span& span : trace->spans) {
    copies += span.kind == SpanKind::kCopy ? 1 : 0;
    CHECK((span.kind != SpanKind::kCopy || span.duration_us() == Approx(10).epsilon(0.01)));
  }
  CHECK(copies == 3);
}

// Every available recorded run: files below `folder` that a reader takes, and folders of CTF.
std::vector<std::string> trace_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.file_size() < (20U << 20U)) {
      files.push_back(entry.path().string());
    } else if (entry.is_directory() && std::filesystem::exists(entry.path() / "metadata")) {
      files.push_back(entry.path().string());
    }
  }
  std::ranges::sort(files);
  return files;
}

TEST_CASE("Critical path: its classes add up to the span of every recorded run") {
  const char* shared = std::getenv("DFSIM_SHARED");
  if (shared == nullptr) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  int checked = 0;
  for (const std::string& file : trace_files(std::string(shared) + "/traces")) {
    const auto trace = read_trace(file);
    if (!trace.ok()) {
      continue;
    }
    const auto graph = make_replay_graph(*trace);
    if (!graph.ok()) {
      continue;
    }
    INFO(file);
    const TracePath path = find_replay_path(*graph);
    double sum_us = 0;
    for (const double us : path.class_us) {
      sum_us += us;
    }
    CHECK(std::llround(sum_us * kNsPerUs) == graph->span_ns);
    CHECK(std::llround(path.length_us * kNsPerUs) == graph->span_ns);
    ++checked;
  }
  CHECK(checked >= 50);
}

TEST_CASE("Critical path: goes through the launch, the device and the wait for it") {
  // The host launches at 2 to 8 us; the kernel runs from 10 to 110; the call that waits for it ends
  // at 112, and an operator follows until 132.
  const Trace trace = KinetoEvents()
                          .op("aten::mm", 0, 9, 1)
                          .kernel("gemm", 2, 10, 100, 1)
                          .call("cudaDeviceSynchronize", 12, 100)
                          .op("aten::add", 112, 20, 2)
                          .trace();
  const auto graph = make_replay_graph(trace);
  REQUIRE(graph.ok());
  const TracePath path = find_replay_path(*graph);
  CHECK(path.length_us == 132);
  const auto time_of = [&path](PathClass path_class) {
    return path.class_us[static_cast<size_t>(path_class)];
  };
  CHECK(time_of(PathClass::kCompute) == 100);
  CHECK(time_of(PathClass::kLaunch) == 8);
  CHECK(time_of(PathClass::kCall) == 2);
  CHECK(time_of(PathClass::kHost) == 2 + 20);
  CHECK(time_of(PathClass::kHostGap) == 0);
}

TEST_CASE("Advice: launches around calls that no capture allows suggest no graph") {
  // Short kernels, but memory is taken between any two of them.
  TraceAnalysis analysis;
  const Trace trace = KinetoEvents()
                          .op("aten::mm", 0, 60, 1)
                          .kernel("gemm", 0, 5, 3, 1)
                          .call("cudaMalloc", 8, 10)
                          .kernel("gemm", 20, 25, 3, 1)
                          .call("cudaMalloc", 28, 10)
                          .kernel("gemm", 40, 45, 3, 1)
                          .trace();
  analysis = analyze_trace(trace);
  REQUIRE(advise(trace, &analysis).ok());
  for (const Advice& advice : analysis.advice.list) {
    CHECK(advice.kind != "launch-overhead");
  }
}

}  // namespace
}  // namespace dfsim
