// Readers of traces: formats told from content, and files that are broken as people's files are.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/io/file.h"
#include "datasets/traces/span_ops.h"
#include "datasets/traces/trace_reader.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim {
namespace {

StatusOr<Trace> read_text(std::string text) {
  return chrome_trace_reader().read(TraceInput::of_content("test.json", std::move(text)));
}

Trace read(const std::string& text) {
  auto trace = read_text(text);
  if (!trace.ok()) {
    FAIL(trace.status().message());
  }
  return std::move(trace).value();
}

std::string error_of(const std::string& text) {
  const auto trace = read_text(text);
  REQUIRE_FALSE(trace.ok());
  CHECK(trace.status().message().find('\n') == std::string::npos);
  return trace.status().message();
}

int64_t warnings(const Trace& trace, std::string_view part) {
  int64_t count = 0;
  for (const TraceWarning& warning : trace.warnings) {
    count += warning.text.find(part) != std::string::npos ? warning.count : 0;
  }
  return count;
}

// "name start end" of each span, in order.
std::string spans_of(const Trace& trace) {
  std::string text;
  for (const Span& span : trace.spans) {
    text += fmt::format("{}{} {}-{}", text.empty() ? "" : ", ", trace.text(span.name),
                        span.start_us, span.end_us);
  }
  return text;
}

TEST_CASE("Trace reader: accepts complete events and pairs, in an array or an object") {
  const std::string events =
      R"([{"ph":"X","name":"a","pid":1,"tid":2,"ts":10,"dur":5},
          {"ph":"B","name":"b","pid":1,"tid":2,"ts":20},{"ph":"E","pid":1,"tid":2,"ts":30}])";
  CHECK(spans_of(read(events)) == "a 10-15, b 20-30");
  const Trace trace =
      read(fmt::format(R"({{"displayTimeUnit":"ms","traceEvents":{},"x":{{}}}})", events));
  CHECK(spans_of(trace) == "a 10-15, b 20-30");
  CHECK(trace.format == "chrome");
  CHECK(trace.warnings.empty());
  CHECK(trace.events == 3);
}

TEST_CASE("Trace reader: accepts quoted times, escapes and names of threads") {
  const Trace trace = read(
      R"([{"ph":"X","name":"a \"b\" \u00e9","pid":"p","tid":"7","ts":"1.5","dur":2},
          {"ph":"M","name":"thread_name","pid":"p","tid":7,"args":{"name":"worker"}},
          {"ph":"M","name":"process_name","pid":"p","args":{"name":"program"}}])");
  REQUIRE(trace.spans.size() == 1);
  CHECK(trace.text(trace.spans[0].name) == "a \"b\" \xC3\xA9");
  CHECK(trace.spans[0].start_us == 1.5);
  CHECK(trace.track(trace.spans[0].track).name == "worker");
  CHECK(trace.track(trace.spans[0].track).process == "program");
}

TEST_CASE("Trace reader: repairs and counts trailing commas and truncated files") {
  const std::string one = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1})";
  CHECK(warnings(read(fmt::format("[{},]", one)), "commas") == 1);
  CHECK(warnings(read(fmt::format("[{},,{}]", one, one)), "commas") == 1);
  CHECK(warnings(read(fmt::format("[{}, 7, {}]", one, one)), "that are not events") == 1);
  for (const std::string& cut : {fmt::format("[{}", one), fmt::format("[{},", one),
                                 fmt::format("[{},{}", one, one.substr(0, 20)),
                                 fmt::format(R"({{"traceEvents":[{},{})", one, one.substr(0, 5))}) {
    const Trace trace = read(cut);
    CHECK(trace.spans.size() == 1);
    CHECK(warnings(trace, "cut off") == 1);
  }
}

TEST_CASE("Trace reader: every cut of a file gives a trace or one line") {
  const std::string whole =
      R"({"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a\"","pid":1,"tid":1,)"
      R"("ts":1.25,"dur":2,"args":{"External id":3,"Input Dims":[[1,2],[]]}}, {"ph":"X","cat":)"
      R"("kernel","name":"k","pid":0,"tid":7,"ts":2,"dur":1,"args":{"External id":3}}],"z":"y"})";
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto trace = read_text(whole.substr(0, length));
    if (!trace.ok()) {
      CHECK(trace.status().message().find('\n') == std::string::npos);
    }
  }
  CHECK(read(whole).spans.size() == 2);
}

TEST_CASE("Trace reader: drops and counts impossible spans") {
  const Trace trace = read(
      R"([{"ph":"X","name":"good","pid":1,"tid":1,"ts":5,"dur":1},
          {"ph":"X","name":"negative","pid":1,"tid":1,"ts":5,"dur":-1},
          {"ph":"X","name":"endless","pid":1,"tid":1,"ts":5},
          {"ph":"X","name":"timeless","pid":1,"tid":1,"dur":1},
          {"name":"no phase"}, {"ph":"X", broken}])");
  CHECK(spans_of(trace) == "good 5-6");
  CHECK(warnings(trace, "negative") == 1);
  CHECK(warnings(trace, "without a duration") == 1);
  CHECK(warnings(trace, "without a start") == 1);
  CHECK(warnings(trace, "without a phase") == 1);
  CHECK(warnings(trace, "not JSON") == 1);
}

TEST_CASE("Trace reader: matches pairs that do not nest by name") {
  const auto event = [](std::string_view phase, std::string_view name, int ts) {
    return fmt::format(R"({{"ph":"{}","name":"{}","pid":1,"tid":1,"ts":{}}})", phase, name, ts);
  };
  // The inner one is never ended: it ends with the outer one.
  const Trace open = read(fmt::format("[{},{},{}]", event("B", "outer", 0), event("B", "inner", 2),
                                      event("E", "outer", 9)));
  CHECK(spans_of(open) == "outer 0-9, inner 2-9");
  CHECK(warnings(open, "not ended before") == 1);
  const Trace stray = read(fmt::format("[{},{},{},{}]", event("E", "x", 0), event("B", "a", 1),
                                       event("E", "a", 3), event("B", "b", 4)));
  CHECK(spans_of(stray) == "a 1-3, b 4-4");
  CHECK(warnings(stray, "never began") == 1);
  CHECK(warnings(stray, "never end,") == 1);
  // Out of order in the file.
  CHECK(spans_of(read(fmt::format("[{},{}]", event("E", "a", 3), event("B", "a", 1)))) == "a 1-3");
}

TEST_CASE("Trace reader: refuses another format with one line") {
  CHECK(error_of("").find("is empty") != std::string::npos);
  CHECK(error_of("hello").find("begins with 'h'") != std::string::npos);
  CHECK(error_of("{}").find("without trace events") != std::string::npos);
  CHECK(error_of("[1,2]").find("without trace events") != std::string::npos);
  CHECK(error_of("[{\"ph\":\"X\",\"ts\":1,\"dur\":-2}]").find("no span") != std::string::npos);
  CHECK_FALSE(read_trace("/nowhere/trace.json").ok());
}

constexpr std::string_view kKineto = R"({"schemaVersion":1,
  "deviceProperties":[{"id":0,"name":"GPU X"}],"distributedInfo":{"rank":3,"world_size":8},
  "traceEvents":[
  {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":0,"dur":20,
   "args":{"External id":5,"Input Dims":[[2,3],[3,4]],"Input type":["float","float"]}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":5,"dur":4,
   "args":{"External id":5,"correlation":77}},
  {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":12,"dur":6,
   "args":{"External id":5,"correlation":77,"device":0,"stream":7}},
  {"ph":"X","cat":"kernel","name":"lost","pid":0,"tid":7,"ts":0,"dur":6,"args":{}},
  {"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":9,"ts":3,
   "args":{"Device Type":1,"Device Id":0,"Addr":140,"Bytes":512,"Total Allocated":512,
           "Total Reserved":2048}}]})";

TEST_CASE("Kineto: shapes of a pretty-printed file read like those of Kineto's own") {
  const auto op_with = [](const std::string& dims, const std::string& types) {
    const Trace trace = read(R"({"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op",)"
                             R"("name":"aten::mm","pid":9,"tid":9,"ts":0,"dur":20,"args":{)"
                             R"("External id":5,"Input Dims":)" +
                             dims + R"(,"Input type":)" + types + "}}]}");
    REQUIRE(trace.spans.size() == 1);
    return std::pair(std::string(trace.text(trace.spans[0].detail)),
                     describe_span_op(trace, trace.spans[0]));
  };
  const auto [detail, op] = op_with("[[2, 3], [3, 4]]", R"(["float", "a \"b , c\""])");
  const auto [pretty_detail, pretty_op] = op_with("[\n [\n  2,\n\t3\n ],\r\n [\n  3,\n  4\n ]\n]",
                                                  "[\n  \"float\",\n  \"a \\\"b , c\\\"\"\n]");
  CHECK(detail == R"([[2, 3], [3, 4]] ["float", "a \"b , c\""])");
  CHECK(pretty_detail == detail);
  REQUIRE(op.has_value());
  REQUIRE(pretty_op.has_value());
  CHECK(pretty_op->inputs.size() == op->inputs.size());
  CHECK(op_with("[\n ]", "[\n ]").first.empty());
}

TEST_CASE("Kineto: links levels, counts lost kernels and keeps the allocator's events") {
  const Trace trace = read(std::string(kKineto));
  CHECK(trace.format == "kineto");
  CHECK(trace.device_name == "GPU X");
  CHECK(trace.rank == 3);
  CHECK(trace.world_size == 8);
  REQUIRE(trace.spans.size() == 3);
  const Span& op = trace.spans[0];
  const Span& call = trace.spans[1];
  const Span& kernel = trace.spans[2];
  CHECK(op.kind == SpanKind::kOp);
  CHECK(trace.text(op.detail) == "[[2,3],[3,4]] [\"float\",\"float\"]");
  CHECK(call.kind == SpanKind::kRuntime);
  CHECK(call.parent == SpanId(0));
  CHECK(call.op == SpanId(0));
  CHECK(kernel.kind == SpanKind::kKernel);
  CHECK(kernel.launch == SpanId(1));
  CHECK(kernel.op == SpanId(0));
  CHECK(trace.track(kernel.track).kind == TrackKind::kDevice);
  CHECK(warnings(trace, "ts 0") == 1);
  REQUIRE(trace.memory.size() == 1);
  CHECK(trace.memory[0].device == 0);
  CHECK(trace.memory[0].address == 140);
  CHECK(trace.memory[0].reserved == 2048);
}

TEST_CASE("ONNX Runtime: nodes are operators, fences are not") {
  const Trace trace = read(
      R"([{"cat":"Session","pid":1,"tid":1,"dur":9,"ts":0,"ph":"X","name":"model_run","args":{}},
          {"cat":"Node","pid":1,"tid":1,"dur":1,"ts":1,"ph":"X","name":"c1_fence_before",
           "args":{"op_name":"Conv"}},
          {"cat":"Node","pid":1,"tid":1,"dur":4,"ts":2,"ph":"X","name":"c1_kernel_time",
           "args":{"op_name":"Conv","provider":"CPUExecutionProvider"}}])");
  CHECK(trace.format == "onnxruntime");
  REQUIRE(trace.spans.size() == 3);
  CHECK(trace.spans[0].kind == SpanKind::kAnnotation);
  CHECK(trace.spans[1].kind == SpanKind::kOther);
  CHECK(trace.spans[2].kind == SpanKind::kOp);
  CHECK(trace.text(trace.spans[2].name) == "Conv");
  CHECK(trace.text(trace.spans[2].detail) == "c1");
}

TEST_CASE(
    "TensorFlow: a stream's work belongs to the node of that name, and summaries are dropped") {
  const auto op = [](int pid, std::string_view type, int ts) {
    return fmt::format(R"({{"ph":"X","cat":"Op","pid":{},"tid":0,"name":"{}","ts":{},"dur":2,)"
                       R"("args":{{"name":"n","op":"{}"}}}})",
                       pid, type, ts, type);
  };
  const auto process = [](int pid, std::string_view name) {
    return fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}"}}}})", pid,
                       name);
  };
  const Trace trace = read(fmt::format(
      R"({{"traceEvents":[{},{},{},{},{},{}]}})", process(1, "/job:localhost/gpu:0 Compute"),
      process(2, "/gpu:0/stream:all Compute"), process(3, "/gpu:0/stream:7 Compute"),
      op(1, "MatMul", 0), op(2, "MatMul", 5), op(3, "MatMul", 5)));
  CHECK(trace.format == "tensorflow");
  REQUIRE(trace.spans.size() == 2);
  CHECK(trace.spans[0].kind == SpanKind::kOp);
  CHECK(trace.spans[1].kind == SpanKind::kKernel);
  CHECK(trace.spans[1].op == SpanId(0));
}

TEST_CASE("rocprofv3: reads kernels on their queues and refuses broken results with one line") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "dfsim_rocprof_test.json").string();
  const auto read_file_of = [&path](std::string_view json) {
    REQUIRE(write_file(path, json).ok());
    auto trace = read_trace(path);
    std::filesystem::remove(path);
    return trace;
  };
  const auto trace = read_file_of(
      R"({"rocprofiler-sdk-tool":[{"kernel_symbols":[{"kernel_id":3,"kernel_name":"k"}],
          "buffer_records":{"kernel_dispatch":[
          {"start_timestamp":2000,"end_timestamp":5500,"correlation_id":{"internal":1},
           "dispatch_info":{"agent_id":{"handle":4},"queue_id":{"handle":1},"kernel_id":3}},
          {"start_timestamp":9000,"end_timestamp":8000}]}}]})");
  REQUIRE(trace.ok());
  CHECK(spans_of(*trace) == "k 2-5.5");
  CHECK(trace->track(trace->spans[0].track).name == "queue 1");
  CHECK(warnings(*trace, "negative duration") == 1);
  for (const std::string_view bad :
       {R"({"rocprofiler-sdk-tool":[]})", R"({"rocprofiler-sdk-tool":[{}]})",
        R"({"rocprofiler-sdk-tool":[{"buffer_records":)", R"({"rocprofiler-sdk-tool":7})"}) {
    const auto refused = read_file_of(bad);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.status().message().find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace dfsim
