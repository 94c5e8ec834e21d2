// Parts of traces: what begins in a window of time, of files that are cut afterwards and of CTF,
// which is cut while it is read.
#include "datasets/traces/trace_window.h"

#include <filesystem>

#include "base/text.h"
#include "study/analysis/trace_analysis.h"
#include "tests/traces/ctf_writer.h"

namespace dfsim {
namespace {

constexpr double kSecond = 1e6;

TraceWindow seconds(double from, double to) {
  TraceWindow window;
  window.from_us = from * kSecond;
  window.to_us = to * kSecond;
  return window;
}

// Operators of one second at 0, 2, 4, 6 s, each with an operator inside it and a kernel that the
// inner one launches and that runs a second later.
constexpr const char* kFourSteps = R"({"schemaVersion":1,"traceEvents":[EVENTS]})";

std::string kineto_trace() {
  std::string events;
  for (int i = 0; i < 4; ++i) {
    const double at = 1e9 + 2e6 * i;
    events += fmt::format(
        R"({}{{"ph":"X","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":{:.0f},"dur":1000000}},)"
        R"({{"ph":"X","cat":"cpu_op","name":"inner","pid":1,"tid":1,"ts":{:.0f},"dur":500000}},)"
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{:.0f},)"
        R"("dur":1000,"args":{{"correlation":{}}}}},)"
        R"({{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{:.0f},"dur":1000,)"
        R"("args":{{"device":0,"stream":7,"correlation":{}}}}})",
        i == 0 ? "" : ",", at, at + 1e5, at + 2e5, i + 1, at + 1.2e6, i + 1);
  }
  std::string text = kFourSteps;
  return text.replace(text.find("EVENTS"), 6, events);
}

Trace cut(const TraceWindow& window) {
  auto trace = read_trace_content("t.json", kineto_trace());
  REQUIRE(trace.ok());
  REQUIRE(cut_trace(window, &*trace).ok());
  return std::move(trace).value();
}

TEST_CASE("TraceWindow: reads both ends, either of which may be missing") {
  CHECK(parse_window("")->whole());
  CHECK(parse_window(" 1.5 , 20 ")->from_us == 1.5e6);
  CHECK(parse_window("1.5,20")->to_us == 20e6);
  CHECK(parse_window("10,")->holds(1e12));
  CHECK_FALSE(parse_window("10,")->holds(9.9e6));
  CHECK(parse_window(",3")->holds(0));
  for (const char* text : {"5", "7,3", "3,3", "-1,2", "a,b", "1,2,3", "nan,2", "1,inf"}) {
    const auto window = parse_window(text);
    INFO(text);
    REQUIRE_FALSE(window.ok());
    CHECK(window.status().message().find("FROM,TO in seconds") != std::string::npos);
  }
}

TEST_CASE("TraceWindow: a window from the beginning holds what is earlier than the first event") {
  CHECK(TraceWindow().holds(-1));
  CHECK(seconds(0, 5).holds(-1));
  CHECK_FALSE(seconds(1, 5).holds(0));
}

TEST_CASE("cut_trace: spans keep their links inside of the window") {
  const Trace trace = cut(seconds(2, 4));
  REQUIRE(trace.spans.size() == 4);
  CHECK(trace.text(trace.spans[0].name) == "outer");
  const Span& inner = trace.spans[1];
  const Span& call = trace.spans[2];
  const Span& kernel = trace.spans[3];
  CHECK(inner.parent == SpanId(0));
  CHECK(call.parent == SpanId(1));
  CHECK(kernel.launch == SpanId(2));
  CHECK(kernel.op == SpanId(1));
}

TEST_CASE("cut_trace: links to what is dropped are gone") {
  // From the second kernel on, whose operators begin before.
  const Trace trace = cut(seconds(3.1, 4));
  REQUIRE(trace.spans.size() == 1);
  CHECK(trace.spans[0].kind == SpanKind::kKernel);
  CHECK_FALSE(trace.spans[0].launch.valid());
  CHECK_FALSE(trace.spans[0].op.valid());
}

TEST_CASE("cut_trace: a window without spans is an error that says where they are") {
  auto trace = read_trace_content("t.json", kineto_trace());
  REQUIRE(trace.ok());
  const Status status = cut_trace(seconds(100, 200), &*trace);
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK(status.message().find("the last at 7.2 s") != std::string::npos);
}

// Six operators of 0.75 s, one a second on threads of their own; the last one never ends.
void write_ctf(const Folder& folder, uint64_t later_s = 0) {
  folder.write("metadata", std::string(kHeader) +
                               event_class(0, "tensorflowTracer:operation_start",
                                           "string cat; string placement; string name;") +
                               event_class(1, "tensorflowTracer:operation_end",
                                           "string cat; string placement; string name;"));
  Stream stream;
  constexpr uint64_t kS = 1'000'000'000;
  for (uint64_t i = 0; i < 6; ++i) {
    const uint64_t at = kS * (10 + i + later_s);
    const std::string name = "op" + std::to_string(i);
    if (i > 0) {
      stream.event(1, at + kS / 2, 100 + static_cast<uint32_t>(i - 1))
          .text("MatMul")
          .text("cpu")
          .text("op" + std::to_string(i - 1));
    }
    stream.event(0, at + kS * 3 / 4, 100 + static_cast<uint32_t>(i))
        .text("MatMul")
        .text("cpu")
        .text(name);
  }
  folder.write("channel0_0", stream.bytes());
}

std::string ctf_spans(const Folder& folder, const TraceWindow& window) {
  const auto trace = read_trace(folder.path(), {}, window);
  INFO((trace.ok() ? "" : trace.status().message()));
  REQUIRE(trace.ok());
  std::string text;
  for (const Span& span : trace->spans) {
    text += fmt::format("{}{} {:g}+{:g}", text.empty() ? "" : ", ", trace->text(span.name),
                        (span.start_us / kSecond) - 10.75, span.duration_us() / kSecond);
  }
  CHECK(warnings_of(*trace, "never began") == 0);
  return text;
}

TEST_CASE("CTF: a window keeps what begins in it, to its end") {
  const Folder folder("dfsim_ctf_window_test");
  write_ctf(folder);
  CHECK(ctf_spans(folder, seconds(1, 3)) == "op1 1+0.75, op2 2+0.75");
  // The end of op2 lies after the window, the end of op1 before it.
  CHECK(ctf_spans(folder, seconds(1.9, 2.1)) == "op2 2+0.75");
  CHECK(ctf_spans(folder, {}) == ctf_spans(folder, seconds(0, 1e6)));
  const auto nothing = read_trace(folder.path(), {}, seconds(50, 60));
  REQUIRE_FALSE(nothing.ok());
  CHECK(nothing.status().message().find("no span begins in the window") != std::string::npos);
}

TEST_CASE("CTF: a trace with more spans than there is room for is read in part, and says so") {
  const Folder folder("dfsim_ctf_room_test");
  write_ctf(folder);
  TraceWindow window;
  window.most_spans = 2;
  const auto trace = read_trace(folder.path(), {}, window);
  REQUIRE(trace.ok());
  CHECK(trace->spans.size() == 2);
  CHECK(warnings_of(*trace, "only the first 2 s are read (2 spans in all)") == 1);
  CHECK(warnings_of(*trace, "never end") == 0);
}

TEST_CASE("CTF: a part that begins before the first one is read in full") {
  const Folder folder("dfsim_ctf_earlier_test");
  for (const char* part : {"kernel", "ust"}) {
    const Folder one("dfsim_ctf_earlier_part_test");
    write_ctf(one, part == std::string_view("kernel") ? 100 : 0);
    std::filesystem::copy(one.path(), folder.path() + "/" + part);
  }
  const auto trace = read_trace(folder.path());
  REQUIRE(trace.ok());
  CHECK(trace->spans.size() == 12);
}

TEST_CASE("CTF: the parts of a trace share the room for spans") {
  const Folder folder("dfsim_ctf_shares_test");
  for (const char* part : {"kernel", "ust"}) {
    const Folder one("dfsim_ctf_one_share_test");
    write_ctf(one);
    std::filesystem::copy(one.path(), folder.path() + "/" + part);
  }
  TraceWindow window;
  window.most_spans = 4;
  const auto trace = read_trace(folder.path(), {}, window);
  REQUIRE(trace.ok());
  CHECK(trace->spans.size() == 4);
  CHECK(warnings_of(*trace, "s of kernel are read") == 1);
  CHECK(warnings_of(*trace, "s of ust are read") == 1);
}

}  // namespace
}  // namespace dfsim
