// TensorFlow's protobuf profiles: StepStats, RunMetadata and XPlane.
#include "base/io/proto_wire.h"
#include "study/analysis/trace_analysis.h"
#include "tests/traces/trace_test_tools.h"

namespace dfsim {
namespace {

ProtoWriter node(std::string_view name, uint64_t start, int64_t length, std::string_view label) {
  ProtoWriter stats;
  stats.bytes(1, name).varint(2, start).varint(3, 1).varint(4, 2).integer(5, length);
  return stats.bytes(8, label).varint(10, 4);
}

ProtoWriter step_stats() {
  ProtoWriter record;
  record.varint(1, 105).integer(2, 4096);
  ProtoWriter freed;
  freed.varint(1, 107).integer(2, -4096);
  ProtoWriter memory;
  memory.bytes(1, "GPU_0_bfc").message(6, record).message(6, freed);
  ProtoWriter gpu;
  gpu.bytes(1, "/job:localhost/replica:0/task:0/device:GPU:0")
      .message(2, node("mm", 100, 10, "mm = MatMul(a, b)").message(6, memory))
      .message(2, node("bad", 100, -3, "bad = Add(a)"));
  ProtoWriter stream;
  stream.bytes(1, "/device:GPU:0/stream:7")
      .message(2, node("mm:MatMul", 108, 20, ""))
      .message(2, node("edge_1:MEMCPYHtoD", 90, 5, ""));
  ProtoWriter all;
  all.bytes(1, "/device:GPU:0/stream:all").message(2, node("mm:MatMul", 108, 20, ""));
  return ProtoWriter().message(1, gpu).message(1, stream).message(1, all);
}

TEST_CASE("StepStats: queues, their nodes, and memory") {
  // Bare, and as the first field of a RunMetadata with a graph behind it.
  const std::string metadata = ProtoWriter().message(1, step_stats()).bytes(3, "a graph").text();
  for (const std::string& content : {step_stats().text(), metadata}) {
    const auto trace = read_trace_content("t", content);
    REQUIRE(trace.ok());
    CHECK(trace->format == "stepstats");
    CHECK(list_spans(*trace) == "MEMCPYHtoD 90-95, MatMul 100-110, MatMul 108-128");
    CHECK(trace->spans[0].kind == SpanKind::kCopy);
    CHECK(trace->spans[1].kind == SpanKind::kOp);
    CHECK(trace->text(trace->spans[1].detail) == "mm");
    CHECK(trace->spans[2].kind == SpanKind::kKernel);
    CHECK(trace->spans[2].op == SpanId(1));
    CHECK(warnings_of(*trace, "negative") == 1);
    REQUIRE(trace->memory.size() == 2);
    CHECK(trace->memory[0].device == 0);
    CHECK(trace->memory[0].address == trace->memory[1].address);
    const TraceAnalysis analysis = analyze_trace(*trace);
    REQUIRE(analysis.memory.size() == 1);
    CHECK(analysis.memory[0].peak_bytes == 4096);
    REQUIRE(analysis.memory[0].at_peak.size() == 1);
    CHECK(analysis.memory[0].at_peak[0].allocated_by == "mm");
    check_every_cut(content);
  }
}

TEST_CASE("StepStats: what lies before the cut is read") {
  const std::string whole = step_stats().text();
  const auto cut = read_trace_content("t", whole.substr(0, whole.size() - 3));
  REQUIRE(cut.ok());
  CHECK(cut->spans.size() == 3);
  CHECK(warnings_of(*cut, "cut off") == 1);
}

ProtoWriter entry(uint64_t key, uint32_t name_field, std::string_view name) {
  ProtoWriter value;
  value.varint(1, key).bytes(name_field, name);
  return ProtoWriter().varint(1, key).message(2, value);
}

ProtoWriter event(uint64_t name, uint64_t offset_ps, uint64_t duration_ps) {
  return ProtoWriter().varint(1, name).varint(2, offset_ps).varint(3, duration_ps);
}

ProtoWriter stat(uint64_t name, uint32_t field, uint64_t value) {
  return ProtoWriter().varint(1, name).varint(field, value);
}

std::string xspace() {
  ProtoWriter details;
  details.varint(1, 3).bytes(5, "kind_src:host size:4096 dest:0");
  ProtoWriter stream;
  stream.bytes(2, "Stream #7(Compute)").varint(3, 1000);
  stream.message(
      4, event(1, 2'000'000, 5'000'000).message(4, stat(1, 3, 42)).message(4, stat(2, 7, 4)));
  stream.message(4, event(2, 9'000'000, 1'000'000).message(4, details));
  ProtoWriter modules;
  modules.bytes(2, "XLA Modules").varint(3, 1000).message(4, event(1, 0, 90'000'000));
  ProtoWriter device;
  device.bytes(2, "/device:GPU:0").message(3, stream).message(3, modules);
  device.message(4, entry(1, 2, "fusion")).message(4, entry(2, 2, "MemcpyH2D"));
  device.message(5, entry(1, 2, "correlation_id")).message(5, entry(2, 2, "hlo_op"));
  device.message(5, entry(3, 2, "memcpy_details")).message(5, entry(4, 2, "dot.1"));
  ProtoWriter thread;
  thread.bytes(2, "python").varint(3, 1000);
  thread.message(4, event(1, 0, 3'000'000).message(4, stat(1, 3, 42)));
  thread.message(4, event(2, 0, 8'000'000));
  ProtoWriter host;
  host.bytes(2, "/host:CPU").message(3, thread);
  host.message(4, entry(1, 2, "cudaLaunchKernel")).message(4, entry(2, 2, "dense/mm:MatMul"));
  host.message(5, entry(1, 2, "correlation_id"));
  return ProtoWriter().message(1, device).message(1, host).bytes(4, "host").text();
}

TEST_CASE("XPlane: streams, calls and operators; lines that say it again are left out") {
  const auto trace = read_trace_content("t", xspace());
  REQUIRE(trace.ok());
  CHECK(trace->format == "xplane");
  CHECK(list_spans(*trace) == "MatMul 1-9, cudaLaunchKernel 1-4, fusion 3-8, MemcpyH2D 10-11");
  CHECK(trace->text(trace->spans[0].detail) == "dense/mm");
  CHECK(trace->spans[1].kind == SpanKind::kRuntime);
  const Span& kernel = trace->spans[2];
  CHECK(kernel.kind == SpanKind::kKernel);
  CHECK(kernel.launch == SpanId(1));
  CHECK(kernel.op == SpanId(0));
  CHECK(trace->text(kernel.detail) == "dot.1");
  CHECK(trace->spans[3].kind == SpanKind::kCopy);
  CHECK(trace->spans[3].bytes == 4096);
  check_every_cut(xspace());
}

}  // namespace
}  // namespace dfsim
