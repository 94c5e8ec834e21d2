// Replays against times worked out by hand, and against what was measured.
#include "study/replay/replay.h"
#include "report/trace/kineto_json.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/name_pattern.h"
#include "opmodel/sol.h"
#include "study/replay/replay_report.h"
#include "study/replay/replay_times.h"
#include "tests/replay/kineto_events.h"

namespace dfsim {
namespace {

ReplayGraph graph_of(const Trace& trace) {
  auto graph = make_replay_graph(trace);
  REQUIRE(graph.ok());
  return std::move(graph).value();
}

// The simulation and the pass over the pieces know nothing of each other.
void check_times(const ReplayGraph& graph, const ReplayRun& run) {
  const auto times = ReplayTimes::make(graph);
  REQUIRE(times.ok());
  CHECK(times->ends([&](uint32_t p) { return graph.pieces[p].time_ns; }) == run.end_ns);
  CHECK(replay_span(graph).value() == run.span_ns);
}

double span_us(const ReplayGraph& graph) {
  const auto run = run_replay(graph);
  if (!run.ok()) {
    FAIL(run.status().message());
  }
  check_times(graph, *run);
  return static_cast<double>(run->span_ns) / 1e3;
}

double scaled_us(const Trace& trace, std::string_view rule) {
  ReplayGraph graph = graph_of(trace);
  const auto parsed = parse_scale_rule(rule);
  REQUIRE(parsed.ok());
  CHECK(apply_scale(trace, *parsed, &graph) > 0);
  return span_us(graph);
}

// Three kernels of 3 us, each launched into an empty queue and 5 us on the way.
Trace host_bound() {
  return KinetoEvents()
      .op("aten::mm", 0, 23, 1)
      .kernel("gemm", 0, 5, 3, 1)
      .kernel("gemm", 10, 15, 3, 1)
      .kernel("gemm", 20, 25, 3, 1)
      .trace();
}

TEST_CASE("Replay: scales a run that the host limits") {
  const Trace trace = host_bound();
  const ReplayGraph graph = graph_of(trace);
  CHECK(graph.span_ns == 28'000);
  CHECK(graph.launched == 3);
  CHECK(graph.unlaunched == 0);
  CHECK(span_us(graph) == 28);
  CHECK(scaled_us(trace, "kernel=0.5") == 26.5);
  // Launched at once: they follow each other after the first one's delay.
  CHECK(scaled_us(trace, "host=0") == 14);
  CHECK(scaled_us(trace, "ge*=2") == 31);
  // The operator, its calls and its kernels.
  CHECK(scaled_us(trace, "aten::m?=0") == 5);
}

TEST_CASE("Replay: a call waits for the device") {
  const Trace trace = KinetoEvents()
                          .op("aten::mm", 0, 8, 1)
                          .kernel("gemm", 2, 20, 35, 1)
                          .call("cudaDeviceSynchronize", 30, 30)
                          .trace();
  const ReplayGraph graph = graph_of(trace);
  CHECK(span_us(graph) == 60);
  // The kernel ends at 37.5, and the call needs 5 us after that.
  CHECK(scaled_us(trace, "kernel=0.5") == 42.5);
  // It ends at 90.
  CHECK(scaled_us(trace, "kernel=2") == 95);
  CHECK(scaled_us(trace, "kernel=0") == 35);
}

TEST_CASE("Replay: a queue waits for another queue") {
  const Trace trace = KinetoEvents()
                          .op("x", 0, 10, 1)
                          .kernel("gemm", 1, 5, 100, 1)
                          .kernel("ncclAllReduce", 3, 106, 400, 1, 8)
                          .kernel("gemm", 5, 508, 100, 1)
                          .trace();
  CHECK(span_us(graph_of(trace)) == 608);
  // The gaps stay: 1 us before and 2 us after the communication.
  CHECK(scaled_us(trace, "communication=0.5") == 408);
  // The communication now waits for its launch, 3 + 4 us.
  CHECK(scaled_us(trace, "gemm=0") == 409);
}

TEST_CASE("Replay: keeps work of one queue that overlaps itself") {
  const Trace trace = KinetoEvents()
                          .op("x", 0, 10, 1)
                          .kernel("a", 1, 5, 100, 1)
                          .kernel("b", 3, 50, 100, 1)
                          .kernel("c", 5, 150, 10, 1)
                          .trace();
  CHECK(span_us(graph_of(trace)) == 160);
}

TEST_CASE("Replay: a thread that starts another one waits for it") {
  KinetoEvents events;
  events.op("forward", 0, 100, 1)
      .kernel("k", 10, 15, 20, 1)
      .op("backward", 150, 400, 2, 2)
      .op("step", 600, 100, 3);
  const Trace trace = events.trace();
  CHECK(span_us(graph_of(trace)) == 700);
  // 50 us to the other thread and 50 us back stay.
  CHECK(scaled_us(trace, "backward=0.5") == 500);
  CHECK(scaled_us(trace, "forward=0") == 600);
}

TEST_CASE("Replay: accepts a trace of the host alone") {
  const Trace trace = KinetoEvents().op("Conv", 0, 100, 1).op("Relu", 110, 50, 2).trace();
  CHECK(span_us(graph_of(trace)) == 160);
  CHECK(scaled_us(trace, "Conv=0.5") == 110);
  CHECK(scaled_us(trace, "gap=0") == 150);
}

TEST_CASE("Replay: work without a launch keeps its gaps") {
  KinetoEvents events;
  events.add("kernel", "a", 0, 7, 100, 10).add("kernel", "b", 0, 7, 130, 10);
  const Trace trace = events.trace();
  const ReplayGraph graph = graph_of(trace);
  CHECK(graph.unlaunched == 2);
  CHECK(span_us(graph) == 40);
  CHECK(scaled_us(trace, "kernel=0.5") == 30);
}

TEST_CASE("Replay: reports the chain that decides the span") {
  const Trace trace = host_bound();
  const auto run = run_replay(graph_of(trace));
  REQUIRE(run.ok());
  // Host until the last launch, its delay, the kernel.
  CHECK(run->path_launch_ns == 5'000);
  CHECK(run->path_ns[static_cast<size_t>(PieceKind::kKernel)] == 3'000);
  CHECK(run->path_ns[static_cast<size_t>(PieceKind::kCall)] == 2'000);
  CHECK(run->path_ns[static_cast<size_t>(PieceKind::kOp)] == 18'000);
}

TEST_CASE("Replay interval: draws the times of similar pieces") {
  const Trace steady = host_bound();
  const auto none = replay_interval(graph_of(steady), 1);
  REQUIRE(none.ok());
  CHECK(none->low_ns == 28'000);
  CHECK(none->high_ns == 28'000);
  KinetoEvents events;
  events.op("x", 0, 100, 1);
  for (int i = 0; i < 10; ++i) {
    events.kernel("k", 2 * i, 5 + 300 * i, i % 2 == 0 ? 100 : 300, 1);
  }
  const auto some = replay_interval(graph_of(events.trace()), 1);
  REQUIRE(some.ok());
  CHECK(some->low_ns < some->high_ns);
  const auto again = replay_interval(graph_of(events.trace()), 1);
  CHECK(some->low_ns == again->low_ns);
}

// Most are short and few are long: drawn further up than down they would add up to too much.
TEST_CASE("Replay interval: contains the run for many skewed pieces") {
  KinetoEvents events;
  double at = 0;
  for (int i = 0; i < 400; ++i) {
    const double length = i % 6 == 0 ? 100 : 10 + i % 7;
    events.op("x", at, length, i);
    at += length;
  }
  const ReplayGraph graph = graph_of(events.trace());
  const auto run = run_replay(graph);
  const auto interval = replay_interval(graph, 1);
  REQUIRE(run.ok());
  REQUIRE(interval.ok());
  CHECK(interval->low_ns < run->span_ns);
  CHECK(interval->high_ns > run->span_ns);
}

// Errors of a cost model are skewed: drawn one by one, hundreds of them add up to a shift.
TEST_CASE("Replay interval: contains the run whose times a cost model gave") {
  KinetoEvents events;
  for (int i = 0; i < 300; ++i) {
    events.op("x", 100.0 * i, 100, i);
  }
  ReplayGraph graph = graph_of(events.trace());
  for (Piece& piece : graph.pieces) {
    piece.modelled = true;
    piece.low_ns = piece.time_ns * 9 / 10;
    piece.high_ns = piece.time_ns * 3;
  }
  const auto run = run_replay(graph);
  const auto shared = replay_interval(graph, 1);
  REQUIRE(run.ok());
  REQUIRE(shared.ok());
  // Equal pieces are as far off as one.
  CHECK(shared->low_ns == run->span_ns * 9 / 10);
  CHECK(shared->high_ns == run->span_ns * 3);
  for (size_t p = 0; p < graph.pieces.size(); ++p) {
    graph.pieces[p].high_ns += static_cast<TimeNs>(p);
  }
  const auto different = replay_interval(graph, 1);
  REQUIRE(different.ok());
  CHECK(different->low_ns < run->span_ns);
  CHECK(different->high_ns > run->span_ns);
  CHECK(different->high_ns < shared->high_ns);
}

TEST_CASE("Replay: a policy keeps the recorded order where it is a constraint") {
  const Trace trace = host_bound();
  const PolicyRegistry registry;
  const auto policy = registry.find("heft");
  REQUIRE(policy.ok());
  const auto run = run_replay_with(graph_of(trace), **policy);
  if (!run.ok()) {
    FAIL(run.status().message());
  }
  CHECK(run->span_ns == 28'000);
}

TEST_CASE("Replay: writes the replayed run as a trace") {
  const Trace trace = host_bound();
  ReplayGraph graph = graph_of(trace);
  const auto rule = parse_scale_rule("kernel=2");
  apply_scale(trace, *rule, &graph);
  const auto run = run_replay(graph);
  REQUIRE(run.ok());
  const Trace replayed = replayed_trace(trace, graph, *run);
  CHECK(analyze_trace(replayed).breakdown.computation_us == 18);
  // The reader reads back the written trace.
  const auto again = read_trace_content("r", kineto_json(replayed));
  REQUIRE(again.ok());
  CHECK(again->format == "kineto");
  CHECK(again->spans.size() == replayed.spans.size());
  CHECK(analyze_trace(*again).breakdown.total_us == analyze_trace(replayed).breakdown.total_us);
}

TEST_CASE("Name patterns: stars match any text") {
  CHECK(matches_pattern("aten::mm", "aten::*"));
  CHECK(matches_pattern("aten::addmm", "*mm"));
  CHECK(matches_pattern("aXbYbZc", "a*b*c"));
  CHECK(matches_pattern("", "*"));
  CHECK_FALSE(matches_pattern("a", "a?"));
  CHECK_FALSE(matches_pattern("addmm", "mm"));
}

TEST_CASE("Scale rules: malformed text is refused") {
  for (const std::string_view text : {"", "kernel", "=2", "kernel=", "kernel=x", "kernel=-1",
                                      "kernel=nan", "kernel=inf", "kernel=1e7", "kernel=1 "}) {
    CHECK_FALSE(parse_scale_rule(text).ok());
  }
  const auto rule = parse_scale_rule("a=b=0.25");
  REQUIRE(rule.ok());
  CHECK(rule->what == "a=b");
  CHECK(rule->factor == 0.25);
}

TEST_CASE("Replay: refuses an empty trace and one with two clocks") {
  Trace empty;
  empty.path = std::string("e");
  CHECK_FALSE(make_replay_graph(empty).ok());
  const Trace far = KinetoEvents().op("a", 0, 1, 1).op("b", 5e14, 1, 2).trace();
  const auto graph = make_replay_graph(far);
  REQUIRE_FALSE(graph.ok());
  CHECK(graph.status().message().find("two clocks") != std::string::npos);
}

// A matrix product with shapes: 512 x 512 x 512 of float32.
Trace with_shapes() {
  return KinetoEvents()
      .op("aten::mm", 0, 10, 1, 1,
          R"("Input Dims":[[512,512],[512,512]],"Input type":["float","float"])")
      .kernel("gemm", 1, 5, 1000, 1)
      .op("other", 10, 10, 2)
      .kernel("vectorized_copy", 11, 1005, 100, 2)
      .trace();
}

Platform machine(double flops_per_s, double bytes_per_s) {
  Platform platform;
  DeviceSpec device;
  device.name = "gpu0";
  device.peaks = {{DType::kFloat32, flops_per_s, 0}};
  device.memory_bytes_per_s = bytes_per_s;
  platform.devices = {device};
  return platform;
}

TEST_CASE("Other hardware: every time names its source") {
  const Trace trace = with_shapes();
  const Platform from = machine(10e12, 1e12);
  const Platform to = machine(20e12, 4e12);
  const auto model = make_sol_model();
  OtherHardware other{to, *model};
  ReplayGraph graph = graph_of(trace);
  auto sources = move_to_hardware(trace, other, &graph);
  REQUIRE(sources.ok());
  CHECK(std::all_of(sources->begin(), sources->end(),
                    [](PieceSource s) { return s == PieceSource::kMeasured; }));
  other.from = &from;
  sources = move_to_hardware(trace, other, &graph);
  REQUIRE(sources.ok());
  for (size_t p = 0; p < graph.pieces.size(); ++p) {
    if (graph.pieces[p].kind != PieceKind::kKernel) {
      continue;
    }
    const bool gemm = trace.text(trace.span(graph.pieces[p].span).name) == "gemm";
    // 2 x 512^3 FLOPs are bound by the peaks, which are 1 to 2; a copy by bandwidths, 1 to 4.
    CHECK((*sources)[p] == (gemm ? PieceSource::kOpRatio : PieceSource::kDeviceRatio));
    CHECK(static_cast<double>(graph.pieces[p].time_ns) ==
          Approx(gemm ? 500e3 : 25e3).epsilon(0.01));
  }
}

// Every trace of PyTorch's profiler, ONNX Runtime and TensorFlow.
TEST_CASE("Replay: recorded runs take the measured time") {
  const char* shared = std::getenv("DFSIM_SHARED");
  if (shared == nullptr) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  int linked = 0;
  std::map<std::string, int> replayed;  // by format
  for (const char* folder :
       {"traces/pytorch_kineto", "traces/pytorch_kineto_tracelens",
        "traces/pytorch_execution_trace", "traces/ort_profile", "traces/tf_timeline"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(shared) / folder)) {
      const auto trace = read_trace(entry.path().string());
      if (!trace.ok() || trace->format == "pytorch-et") {
        continue;
      }
      const auto graph = make_replay_graph(*trace);
      if (!graph.ok()) {
        continue;
      }
      INFO(entry.path().string());
      const auto run = run_replay(*graph);
      if (!run.ok()) {
        FAIL(run.status().message());
      }
      check_times(*graph, *run);
      const double off =
          std::abs(static_cast<double>(run->span_ns) / static_cast<double>(graph->span_ns) - 1);
      CHECK(off < 0.03);
      linked += trace->format == "kineto" && graph->launched > 0 ? 1 : 0;
      ++replayed[trace->format];
    }
  }
  CHECK(linked >= 15);
  CHECK(replayed["onnxruntime"] == 1);
  CHECK(replayed["tensorflow"] == 10);
}

}  // namespace
}  // namespace dfsim
