// Files of performance counters, joined with a trace by name.
#include "datasets/traces/counters/counter_file.h"

#include <filesystem>

#include "base/io/file.h"
#include "study/roofline/counted_work.h"
#include "tests/traces/trace_test_tools.h"

namespace dfsim {
namespace {

// Two calls of conv1 and one kernel.
Trace counted_trace() {
  auto trace = read_trace_content("t", R"json({"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"conv1","pid":1,"tid":1,"ts":0,"dur":10,"args":{"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":2,"dur":4,
 "args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"void gemm<float>(int, float*)","pid":0,"tid":7,"ts":8,"dur":20,
 "args":{"External id":1,"correlation":5,"device":0}},
{"ph":"X","cat":"cpu_op","name":"conv1","pid":1,"tid":1,"ts":20,"dur":10,"args":{"External id":2}}
]})json");
  REQUIRE(trace.ok());
  return std::move(trace).value();
}

StatusOr<CounterFileSummary> add_text(std::string_view text, Trace* trace) {
  const std::string path = (std::filesystem::temp_directory_path() / "dfsim_counters.csv").string();
  REQUIRE(write_file(path, text).ok());
  auto summary = add_counter_file(path, trace);
  std::filesystem::remove(path);
  return summary;
}

double sum_of(const Trace& trace, std::string_view counter) {
  double sum = 0;
  for (const SpanCounter& one : trace.span_counters) {
    sum += trace.text(one.name) == counter ? one.value : 0;
  }
  return sum;
}

TEST_CASE("Counter files: LIKWID's regions are operators") {
  Trace trace = counted_trace();
  const auto summary = add_text(
      "TABLE,Region conv1,Group 1 Raw,MEM_SP,2\n"
      "Event,Counter,HWThread 0,HWThread 1\n"
      "FP_ARITH_INST_RETIRED_256B_PACKED_SINGLE,PMC1,1000,500\n"
      "TABLE,Region conv1,Group 1 Metric,MEM_SP,4\n"
      "Metric,HWThread 0,HWThread 1\n"
      "Runtime (RDTSC) [s],0.5,0.4\n"
      "SP [MFLOP/s],20,10\n"
      "Memory data volume [GBytes],0.002,0\n"
      "TABLE,Region conv1,Group 1 Metric STAT,MEM_SP,4\n"
      "Metric,Sum,Min,Max,Avg\n"
      "Memory data volume [GBytes] STAT,0.002,0,0.002,0.001\n"
      "TABLE,Region other,Group 1 Metric,MEM_SP,1\n"
      "SP [MFLOP/s],1,1\n",
      &trace);
  REQUIRE(summary.ok());
  CHECK(summary->format == "LIKWID");
  CHECK(summary->joined == 1);
  CHECK(summary->not_joined == 1);
  CHECK(warnings_of(trace, "file of counters") == 1);
  CHECK(sum_of(trace, "LIKWID FLOP") == Approx(30e6 * 0.5));
  CHECK(sum_of(trace, "LIKWID memory bytes") == Approx(2e6));
  CHECK(sum_of(trace, "FP_ARITH_INST_RETIRED_256B_PACKED_SINGLE") == 1500);
}

TEST_CASE("Counter files: Nsight Compute's and nvprof's kernels are those of the trace") {
  Trace trace = counted_trace();
  const auto ncu = add_text(
      "==PROF== Connected to process 1\n"
      "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
      "\"0\",\"gemm<float>(int, float*)\",\"dram__bytes_read.sum\",\"Mbyte\",\"1,000.5\"\n"
      "\"0\",\"gemm<float>(int, float*)\",\"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum\","
      "\"inst\",\"4,000\"\n",
      &trace);
  REQUIRE(ncu.ok());
  CHECK(ncu->format == "Nsight Compute");
  const std::vector<CountedWork> work = counted_work(trace);
  REQUIRE(work.size() == trace.spans.size());
  CHECK(work[0].flops == 8000);  // the kernel's counts belong to its operator
  CHECK(work[0].bytes == Approx(1000.5e6));
  Trace other = counted_trace();
  const auto nvprof = add_text(
      "\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\",\"Metric "
      "Description\",\"Min\",\"Max\","
      "\"Avg\"\n"
      "\"V100\",\"void gemm<float>(int, float*)\",3,\"flop_count_sp\",\"FLOPs\",10,30,20\n",
      &other);
  REQUIRE(nvprof.ok());
  CHECK(nvprof->format == "nvprof");
  CHECK(counted_work(other)[0].flops == 60);
}

TEST_CASE("Counter files: other files and other programs are refused in one line") {
  Trace trace = counted_trace();
  for (const std::string_view text :
       {"", "a,b\n1,2\n", "TABLE,Region conv9,Group 1 Metric,MEM,1\nSP [MFLOP/s],1\n",
        "\"Kernel Name\",\"Metric Name\",\"Metric Value\"\nk,m,1x\n", "\"unclosed\n"}) {
    const auto summary = add_text(text, &trace);
    REQUIRE_FALSE(summary.ok());
    CHECK(summary.status().message().find('\n') == std::string::npos);
  }
}

TEST_CASE("Counters: each name means FLOPs, bytes or neither") {
  CHECK(meaning_of_counter("perf_thread_cache_misses").bytes == 64);
  CHECK(meaning_of_counter("perf_thread_fp_arith_inst_retired_scalar_single").flops == 1);
  CHECK(meaning_of_counter("fp_arith_inst_retired.512b_packed_single").flops == 16);
  CHECK(meaning_of_counter("flop_count_sp").flops == 1);
  CHECK(meaning_of_counter("flop_count_sp_fma").flops == 0);
  CHECK(meaning_of_counter("FetchSize").bytes == 1024);
  CHECK(meaning_of_counter("perf_thread_instructions").flops == 0);
}

}  // namespace
}  // namespace dfsim
