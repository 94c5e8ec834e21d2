// Each advice on a run made for it, with its impact worked out by hand.
#include "study/replay/advice.h"

#include <nlohmann/json.hpp>

#include "report/recordings/analysis_views.h"
#include "tests/replay/kineto_events.h"

namespace dfsim {
namespace {

TraceAnalysis advised(const Trace& trace) {
  TraceAnalysis analysis = analyze_trace(trace);
  const Status status = advise(trace, &analysis);
  if (!status.ok()) {
    FAIL(status.message());
  }
  CHECK(analysis.advice.asked);
  return analysis;
}

void check_advice(const Trace& trace, std::string_view kind, double before_us, double after_us) {
  const TraceAnalysis analysis = advised(trace);
  bool found = false;
  for (const Advice& advice : analysis.advice.list) {
    if (advice.kind == kind) {
      CHECK(advice.before_us == Approx(before_us));
      CHECK(advice.after_us == Approx(after_us));
      CHECK_FALSE(advice.insight.empty());
      CHECK_FALSE(advice.action.empty());
      found = true;
    }
    CHECK(advice.before_us - advice.after_us > analysis.advice.width_us);
  }
  CHECK(found);
}

TEST_CASE("Advice: single launches suggest one graph") {
  // Kernels of 3 us, 5 us after launches every 10 us. As one graph: they begin at 5 and follow each
  // other.
  check_advice(KinetoEvents()
                   .op("aten::mm", 0, 23, 1)
                   .kernel("gemm", 0, 5, 3, 1)
                   .kernel("gemm", 10, 15, 3, 1)
                   .kernel("gemm", 20, 25, 3, 1)
                   .trace(),
               "launch-overhead", 28, 14);
}

TEST_CASE("Advice: adjacent elementwise kernels suggest fusion") {
  // 1000 and 500 us become one of 1000 us.
  check_advice(KinetoEvents()
                   .op("aten::add", 0, 4, 1)
                   .kernel("vectorized_elementwise_kernel<add>", 1, 6, 1000, 1)
                   .op("aten::relu", 5, 4, 2)
                   .kernel("vectorized_elementwise_kernel<relu>", 6, 1006, 500, 2)
                   .trace(),
               "fusion", 1506, 1006);
}

TEST_CASE("Advice: elementwise kernels of different shapes do not suggest fusion") {
  const TraceAnalysis analysis =
      advised(KinetoEvents()
                  .op("aten::add", 0, 4, 1, 1, R"("Input Dims":[[8,64]],"Input type":["float"])")
                  .kernel("vectorized_elementwise_kernel<add>", 1, 6, 1000, 1)
                  .op("aten::relu", 5, 4, 2, 1, R"("Input Dims":[[8,32]],"Input type":["float"])")
                  .kernel("vectorized_elementwise_kernel<relu>", 6, 1006, 500, 2)
                  .trace());
  for (const Advice& advice : analysis.advice.list) {
    CHECK(advice.kind != "fusion");
  }
}

TEST_CASE("Advice: reading single values suggests less synchronisation") {
  // Without the wait the second kernel is launched at 513 and begins when the first one ends, at
  // 1005.
  check_advice(KinetoEvents()
                   .op("aten::mm", 0, 4, 1)
                   .kernel("gemm", 1, 5, 1000, 1)
                   .op("aten::item", 10, 1002, 2)
                   .call("cudaStreamSynchronize", 11, 1000)
                   .op("aten::mm", 1012, 504, 3)
                   .kernel("gemm", 1513, 1517, 1000, 3)
                   .trace(),
               "synchronisation", 2517, 2005);
}

TEST_CASE("Advice: a growing allocator is reported") {
  check_advice(KinetoEvents()
                   .op("aten::mm", 0, 510, 1)
                   .call("cudaMalloc", 2, 500)
                   .kernel("gemm", 505, 509, 100, 1)
                   .trace(),
               "allocator-growth", 609, 109);
}

TEST_CASE("Advice: a run that waits for its input is reported") {
  check_advice(KinetoEvents()
                   .op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 1000, 1)
                   .op("aten::mm", 1000, 10, 2)
                   .kernel("gemm", 1001, 1005, 500, 2)
                   .trace(),
               "input-stalls", 1505, 505);
}

TEST_CASE("Advice: copies from pageable memory are reported") {
  // The call lasts until the copy is done, at 1000. Without the wait the host is 999 us earlier at
  // the second launch.
  check_advice(
      KinetoEvents()
          .op("aten::copy_", 0, 1002, 1)
          .launched("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, 1, 1000, 5, 995, 1)
          .op("aten::mm", 1002, 1000, 2)
          .kernel("gemm", 2000, 2004, 500, 2)
          .trace(),
      "pageable-copies", 2504, 1505);
}

TEST_CASE("Advice: copies into another layout are reported") {
  // Without the copy the product is launched 10 us earlier and begins at 7.
  check_advice(KinetoEvents()
                   .op("aten::contiguous", 0, 10, 1)
                   .op("aten::copy_", 1, 8, 2)
                   .kernel("copy_kernel", 2, 7, 1000, 2)
                   .op("aten::mm", 10, 10, 3)
                   .kernel("gemm", 12, 1007, 500, 3)
                   .trace(),
               "layout-copies", 1507, 507);
}

TEST_CASE("Advice: an operator on the host between operators on the device is reported") {
  // It takes 2 us, as a launch does, and a 30th of its 1000 us on the device.
  check_advice(KinetoEvents()
                   .op("aten::mm", 0, 4, 1)
                   .kernel("gemm", 1, 5, 10, 1)
                   .op("aten::unique", 10, 1000, 2)
                   .op("aten::mm", 1010, 4, 3)
                   .kernel("gemm", 1011, 1015, 10, 3)
                   .trace(),
               "placement", 1025, 60.333);
}

TEST_CASE("Advice: recomputed activations are reported") {
  // Without the part that runs again (400 us on the device) the last kernel is launched right
  // after the first one, and begins when that ends, at 105.
  check_advice(
      KinetoEvents()
          .op("aten::mm", 0, 4, 1)
          .kernel("gemm", 1, 5, 100, 1)
          .add("python_function", "torch/utils/checkpoint.py(1): recompute_fn", 1, 1, 10, 10)
          .op("aten::mm", 11, 4, 2)
          .kernel("gemm_again", 12, 105, 400, 2)
          .op("MmBackward0", 20, 4, 3)
          .kernel("gemm_gradient", 21, 505, 100, 3)
          .trace(),
      "recomputation", 605, 205);
}

TEST_CASE("Advice: threads that slow each other down are reported") {
  // The operator takes 100 us alone and 300 us next to another one: 10 alone and 20 pairs take
  // 7000 us, 50 one after the other 5000 us.
  KinetoEvents events;
  int id = 0;
  for (int i = 0; i < 10; ++i) {
    events.op("aten::mm", 100 * i, 100, ++id, 1);
  }
  for (int i = 0; i < 20; ++i) {
    events.op("aten::mm", 1000 + 300 * i, 300, ++id, 1);
    events.op("aten::mm", 1000 + 300 * i, 300, ++id, 2);
  }
  check_advice(events.trace(), "threads", 7000, 5000);
}

TEST_CASE("Advice: threads that do not slow each other down are not reported") {
  KinetoEvents events;
  events.op("aten::mm", 0, 100, 1, 1).op("aten::mm", 100, 100, 2, 1);
  events.op("aten::mm", 100, 100, 3, 2);
  for (const Advice& advice : advised(events.trace()).advice.list) {
    CHECK(advice.kind != "threads");
  }
}

TEST_CASE("Advice: exposed communication is reported") {
  check_advice(KinetoEvents()
                   .op("x", 0, 10, 1)
                   .kernel("gemm", 1, 5, 100, 1)
                   .kernel("ncclAllReduce", 3, 105, 400, 1, 8)
                   .kernel("gemm", 5, 505, 100, 1)
                   .trace(),
               "communication", 605, 505);
}

TEST_CASE("Advice: communication in the queue of the computation is reported") {
  check_advice(KinetoEvents()
                   .op("x", 0, 10, 1)
                   .kernel("gemm", 1, 5, 100, 1)
                   .kernel("ncclAllReduce", 3, 105, 400, 1)
                   .kernel("gemm", 5, 505, 100, 1)
                   .trace(),
               "communication", 605, 505);
}

TEST_CASE("Advice: a single operator on many threads is reported") {
  // 1000 us on two threads take 500.
  check_advice(KinetoEvents()
                   .op("Gather", 0, 1000, 1)
                   .op("MatMul", 1000, 500, 2)
                   .op("MatMul", 1000, 500, 3, 2)
                   .trace(),
               "serial-section", 1500, 1000);
}

TEST_CASE("Advice: a larger batch is suggested if it fits") {
  KinetoEvents events;
  events.op("aten::mm", 0, 100, 1).kernel("gemm", 1, 5, 5, 1);
  events.raw(R"({"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":2,"args":{"Device Type":1,)"
             R"("Device Id":0,"Addr":1,"Bytes":1000000000,"Total Allocated":7000000000,)"
             R"("Total Reserved":8000000000}})");
  // 0.9 x 80 GiB are 9 times 8 GB; the kernel then takes 45 us of the 100.
  check_advice(events.trace("NVIDIA A100-SXM4-80GB"), "batch", 100, 100.0 / 9);
}

TEST_CASE("Advice: a run that keeps the device busy needs none") {
  const Trace trace = KinetoEvents()
                          .op("aten::mm", 0, 4, 1)
                          .kernel("gemm", 1, 5, 10000, 1)
                          .op("aten::mm", 4, 4, 2)
                          .kernel("gemm", 5, 10005, 10000, 2)
                          .trace();
  const TraceAnalysis analysis = advised(trace);
  CHECK(analysis.advice.list.empty());
  CHECK(analysis.advice.width_us == Approx(200).epsilon(0.01));
  const std::string text = analysis_text(analysis, trace, 3);
  CHECK(text.find("advice        none") != std::string::npos);
}

TEST_CASE("Advice: text and JSON list it") {
  const Trace trace = KinetoEvents()
                          .op("aten::mm", 0, 510, 1)
                          .call("cudaMalloc", 2, 500)
                          .kernel("gemm", 505, 509, 100, 1)
                          .trace();
  const TraceAnalysis analysis = advised(trace);
  const std::string text = analysis_text(analysis, trace, 3);
  CHECK(text.find("insight") != std::string::npos);
  CHECK(text.find("109 us instead of 609 us") != std::string::npos);
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    CHECK(text.find('\n', begin) - begin <= 80);
  }
  std::vector<Trace> traces;
  traces.push_back(trace);
  const auto json = nlohmann::json::parse(analyses_json({analysis}, traces));
  const auto& list = json["traces"][0]["advice"]["list"];
  REQUIRE(list.size() == analysis.advice.list.size());
  CHECK(list[0]["before_us"] == 609);
  CHECK(nlohmann::json::parse(analyses_json({analyze_trace(trace)}, traces))["traces"][0]["advice"]
            .is_null());
}

}  // namespace
}  // namespace dfsim
