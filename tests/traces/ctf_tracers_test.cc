// The tracers of the GPU-dataflow tracing method, one trace of each with a known answer. The
// tracepoints and their fields are those of the tracers' own headers.
#include "base/text.h"
#include "study/analysis/trace_analysis.h"
#include "tests/traces/ctf_writer.h"

namespace dfsim {
namespace {

// Classes of events, numbered in the order in which they are added.
class Tracer {
 public:
  Tracer& event(std::string_view name, std::string_view fields) {
    text_ += event_class(count_++, name, fields);
    return *this;
  }
  std::string metadata(std::string_view head = kHeader) const { return std::string(head) + text_; }

 private:
  int count_ = 0;
  std::string text_;
};

std::string integers(std::string_view names) {
  std::string text;
  for (const std::string& name : split(names, ' ')) {
    text += fmt::format("{} {}; ", kInt, name);
  }
  return text;
}

Trace read_folder(const Folder& folder) {
  auto trace = folder.read();
  INFO((trace.ok() ? "" : trace.status().message()));
  REQUIRE(trace.ok());
  return std::move(trace).value();
}

const Span& span_named(const Trace& trace, std::string_view name) {
  for (const Span& span : trace.spans) {
    if (trace.text(span.name) == name) {
      return span;
    }
  }
  FAIL("no span " << name);
  return trace.spans.front();
}

TEST_CASE("CTF tracers: hcTracer's kernels name their operator, and queues have lengths") {
  const Folder folder("dfsim_ctf_hc_test");
  folder.write(
      "metadata",
      Tracer()
          .event("tensorflowTracer:operation_start", "string cat; string placement; string name;")
          .event("tensorflowTracer:operation_end", "string cat; string placement; string name;")
          .event("hipTracer:function_entry", "string cat; string name;")
          .event("hipTracer:function_exit", "string cat; string name;")
          .event("hcTracer:kernel_begin",
                 fmt::format("string cat; {} timestamp; string name; string long_name; "
                             "string tf_name;",
                             kInt))
          .event("hcTracer:kernel_end",
                 fmt::format("string cat; {} timestamp; string name; string long_name; "
                             "string tf_name;",
                             kInt))
          .event("hcTracer:async_memcpyslo_begin",
                 fmt::format("string cat; {0} timestamp; string name; {0} size_bytes;", kInt))
          .event("hcTracer:async_memcpyslo_end",
                 fmt::format("string cat; {} timestamp; string name;", kInt))
          .event("hcTracer:barrier_begin",
                 fmt::format("string cat; {} timestamp; string name;", kInt))
          .event("hcTracer:barrier_end",
                 fmt::format("string cat; {} timestamp; string name;", kInt))
          .event("hcTracer:queue_stats", fmt::format("string queue_id; {} size;", kInt))
          .metadata());
  const char* const gpu = "/job:localhost/replica:0/task:0/device:GPU:0";
  Stream s;
  s.event(0, 1000).text("op").text(gpu).text("a/MatMul");
  s.event(2, 1100).text("hip").text("hipLaunchKernel");
  s.event(3, 1200).text("hip").text("hipLaunchKernel");
  s.event(1, 1300).text("op").text(gpu).text("a/MatMul");
  s.event(0, 2000).text("op").text(gpu).text("b/Relu");
  s.event(2, 2100).text("hip").text("hipLaunchKernel");
  s.event(3, 2200).text("hip").text("hipLaunchKernel");
  s.event(1, 2300).text("op").text(gpu).text("b/Relu");
  s.event(10, 2400).text("q0").number(2, 8);
  // Written long after they ran, in another order; the second kernel belongs to the first operator.
  s.event(4, 9000, 99).text("k").number(3000, 8).text("Eigen").text("Eigen<...>").text("b/Relu");
  s.event(5, 9100, 99).text("k").number(4000, 8).text("Eigen").text("Eigen<...>").text("b/Relu");
  s.event(4, 9200, 99).text("k").number(5000, 8).text("Cijk").text("Cijk<...>").text("a/MatMul");
  s.event(5, 9300, 99).text("k").number(6000, 8).text("Cijk").text("Cijk<...>").text("a/MatMul");
  s.event(6, 9400, 99).text("c").number(7000, 8).text("HostToDevice").number(4096, 8);
  s.event(7, 9500, 99).text("c").number(7500, 8).text("another name");
  s.event(8, 9600, 99).text("b").number(7500, 8).text("barrier");
  s.event(9, 9700, 99).text("b").number(7600, 8).text("barrier");
  s.event(10, 10400).text("q0").number(0, 8);
  folder.write("channel_0", s.bytes());
  const Trace trace = read_folder(folder);
  const auto op_of = [&trace](std::string_view kernel) {
    const Span& span = span_named(trace, kernel);
    REQUIRE(span.op.valid());
    return trace.text(trace.span(span.op).name);
  };
  CHECK(op_of("Eigen") == "b/Relu");
  CHECK(op_of("Cijk") == "a/MatMul");
  CHECK(span_named(trace, "Cijk").start_us == 5);
  const Span& copy = span_named(trace, "Memcpy HtoD");
  CHECK(copy.bytes == 4096);
  CHECK(copy.duration_us() == 0.5);
  CHECK(span_named(trace, "barrier").kind == SpanKind::kSync);
  CHECK(trace.text(span_named(trace, "a/MatMul").placement) == gpu);
  const TraceAnalysis analysis = analyze_trace(trace);
  REQUIRE(analysis.queue_lengths.size() == 1);
  CHECK(analysis.queue_lengths[0].mean == 2);
  CHECK(analysis.queue_lengths[0].max == 2);
}

TEST_CASE("CTF tracers: CUPTI's numbers stand for calls, and microseconds for times") {
  // The clock counts from the machine's start; kernels have microseconds since 1970.
  const Folder folder("dfsim_ctf_cupti_numbers_test");
  std::string head(kHeader);
  head.replace(head.find("offset = 0"), 10, "offset = 1600000000000000000");
  folder.write("metadata", Tracer()
                               .event("cudaTracer:runtime_api_entry", "string cat; string name;")
                               .event("cudaTracer:runtime_api_exit", "string cat; string name;")
                               .event("cudaTracer:kernel_begin",
                                      fmt::format("string cat; string name; {} timestamp;", kInt))
                               .event("cudaTracer:kernel_end",
                                      fmt::format("string cat; string name; {} timestamp;", kInt))
                               .metadata(head));
  Stream s;
  s.event(0, 5000).text("api").text("211");
  s.event(1, 9000).text("api").text("211");
  s.event(0, 10000).text("api").text("165");
  s.event(1, 40000).text("api").text("165");
  s.event(2, 50000, 99).text("kernel").text("gemm").number(1600000000000000 + 15, 8);
  s.event(3, 50001, 99).text("kernel").text("gemm").number(1600000000000000 + 38, 8);
  folder.write("channel_0", s.bytes());
  const Trace trace = read_folder(folder);
  CHECK(span_named(trace, "cudaLaunchKernel").duration_us() == Approx(4));
  CHECK(span_named(trace, "cudaDeviceSynchronize").duration_us() == Approx(30));
  const Span& kernel = span_named(trace, "gemm");
  CHECK(kernel.duration_us() == Approx(23));
  CHECK(kernel.start_us == Approx(1.6e15 + 15).epsilon(1e-15));
  REQUIRE(kernel.launch.valid());
  CHECK(trace.text(trace.span(kernel.launch).name) == "cudaLaunchKernel");
}

TEST_CASE("CTF tracers: names may be addresses whose text comes before or after") {
  const Folder folder("dfsim_ctf_pointers_test");
  folder.write(
      "metadata",
      Tracer()
          .event("tensorflowTracer:operation_start", integers("name"))
          .event("tensorflowTracer:operation_end", integers("name"))
          .event("tensorflowTracer:name_table", fmt::format("{} ptr; string text;", kInt))
          .event("interceptionTracer:aql_kernel_dispatch_packet_submitted",
                 "string cat; " + integers("packet_id agent_handle queue_id kernel_object") +
                     "string kernel_name;")
          .event("interceptionTracer:kernel_begin",
                 "string cat; " + integers("kernel_object agent_handle queue_id timestamp"))
          .event("interceptionTracer:kernel_end",
                 "string cat; " + integers("kernel_object agent_handle queue_id timestamp"))
          .metadata());
  Stream s;
  s.event(2, 500).number(0x7f10, 8).text("early/MatMul");
  s.event(0, 1000).number(0x7f10, 8);
  s.event(3, 1100).text("c").number(1, 8).number(5, 8).number(3, 8).number(0xabc0, 8).text("gemm");
  s.event(1, 1300).number(0x7f10, 8);
  s.event(0, 2000).number(0x7f20, 8);
  s.event(1, 2300).number(0x7f20, 8);
  s.event(4, 3000, 99).text("k").number(0xabc0, 8).number(5, 8).number(3, 8).number(2500, 8);
  s.event(5, 3100, 99).text("k").number(0xabc0, 8).number(5, 8).number(3, 8).number(2900, 8);
  s.event(2, 4000).number(0x7f20, 8).text("late/Relu");
  folder.write("channel_0", s.bytes());
  const Trace trace = read_folder(folder);
  CHECK(span_named(trace, "early/MatMul").duration_us() == Approx(0.3));
  CHECK(span_named(trace, "late/Relu").duration_us() == Approx(0.3));
  const Span& kernel = span_named(trace, "gemm");
  CHECK(kernel.duration_us() == Approx(0.4));
  REQUIRE(kernel.op.valid());
  CHECK(trace.text(trace.span(kernel.op).name) == "early/MatMul");
}

TEST_CASE("CTF tracers: streamTracer's copies, eigenTracer's schedules and older hipTracer") {
  const Folder folder("dfsim_ctf_stream_test");
  folder.write(
      "metadata",
      Tracer()
          .event("tensorflowTracer:operation_start", "string name;")
          .event("tensorflowTracer:operation_end", "string name;")
          .event("streamTracer:memcpy_start",
                 fmt::format("string cat; string name; {} size;", kInt))
          .event("streamTracer:memcpy_end", "string cat; string name;")
          .event("streamTracer:test_start_ThenMemcpy_device_to_host", "string cat; string name;")
          .event("streamTracer:test_end_ThenMemcpy_device_to_host", "string cat; string name;")
          .event("eigenTracer:schedule_entry", "string name;")
          .event("eigenTracer:schedule_exit", "string name;")
          .event("hipTracer:begin", "string name;")
          .event("hipTracer:end", "string name;")
          .metadata());
  Stream s;
  s.event(0, 1000).text("op");
  s.event(6, 1100).text("schedule");
  s.event(7, 1200).text("schedule");
  s.event(8, 1300).text("hipMalloc");
  s.event(9, 1400).text("hipMalloc");
  s.event(2, 2000).text("copy").text("host_to_device").number(1 << 20, 8);
  s.event(3, 2500).text("copy").text("host_to_device");
  s.event(4, 3000).text("copy").text("");
  s.event(5, 3200).text("copy").text("");
  s.event(1, 4000).text("op");
  folder.write("channel_0", s.bytes());
  const Trace trace = read_folder(folder);
  CHECK(span_named(trace, "schedule").duration_us() == Approx(0.1));
  CHECK(span_named(trace, "hipMalloc").kind == SpanKind::kRuntime);
  // Nothing else tells of copies, so the calls are the copies.
  const Span& to_device = span_named(trace, "Memcpy HtoD");
  CHECK(to_device.kind == SpanKind::kCopy);
  CHECK(to_device.bytes == 1 << 20);
  CHECK(to_device.duration_us() == Approx(0.5));
  CHECK(span_named(trace, "Memcpy DtoH").duration_us() == Approx(0.2));
}

TEST_CASE("CTF tracers: gRPC and the rendezvous become transfers, whatever is missing") {
  const std::string text = "string cat; string name; string rendezvous_key;";
  const std::string metadata =
      Tracer()
          .event("tensorflowTracer:operation_start", "string cat; string placement; string name;")
          .event("tensorflowTracer:operation_end", "string cat; string placement; string name;")
          .event("tensorflowTracer:rdv_recv", "string cat; string name;")
          .event("tensorflowTracer:rdv_send", "string cat; string name;")
          .event("grpcTracer:send_RecvTensor_request",
                 text + " string tensor; string src_device; string dst_device;")
          .event("grpcTracer:receive_RecvTensor_request", text + integers("step_id bus_id"))
          .event("grpcTracer:prepare_response_tensor_start", text)
          .event("grpcTracer:prepare_response_tensor_end", text)
          .event("grpcTracer:EncodeTensorToByteBuffer",
                 fmt::format("string cat; string name; {} size;", kInt))
          .event("grpcTracer:send_request_tensor_end", text)
          .metadata();
  const char* const first = "/job:worker/replica:0/task:0/device:CPU:0";
  const char* const second = "/job:worker/replica:0/task:1/device:CPU:0";
  const auto run = [&](bool send, bool prepared, bool answered) {
    Stream s;
    s.event(0, 1000, 10).text("op").text(first).text("big");
    s.event(2, 2000, 20).text("rdv").text("edge_5_big");
    s.event(4, 2000, 20).text("grpc").text("RecvTensor").text("edge_5_big").text("big:0");
    s.text(first).text(second);
    s.event(5, 2100, 11)
        .text("grpc")
        .text("RecvTensor")
        .text("edge_5_big")
        .number(1, 8)
        .number(0, 8);
    s.event(1, 5000, 10).text("op").text(first).text("big");
    if (send) {
      s.event(3, 5000, 10).text("rdv").text("edge_5_big");
    }
    if (prepared) {  // on another thread, and only the begin has an end
      s.event(6, 5000, 12).text("grpc").text("prep").text("edge_5_big");
      s.event(7, 6000, 13).text("grpc").text("prep").text("edge_5_big");
      s.event(8, 6100, 13).text("grpc").text("enc").number(1 << 20, 8);
    }
    if (answered) {
      s.event(9, 8000, 21).text("grpc").text("request").text("edge_5_big");
    }
    s.event(0, 9000, 20).text("op").text(second).text("small");
    s.event(1, 9500, 20).text("op").text(second).text("small");
    const Folder folder("dfsim_ctf_grpc_test");
    folder.write("metadata", metadata);
    folder.write("channel_0", s.bytes());
    return read_folder(folder);
  };
  const Trace whole = run(true, true, true);
  REQUIRE(whole.transfers.size() == 1);
  CHECK(whole.transfers[0].requested_us == 2);
  CHECK(whole.transfers[0].produced_us == 5);
  CHECK(whole.transfers[0].arrived_us == 8);
  CHECK(whole.transfers[0].arrival_recorded);
  CHECK(whole.transfers[0].bytes == 1 << 20);
  CHECK(whole.text(whole.transfers[0].source) == first);
  CHECK(whole.track(span_named(whole, "small").track).process == "/job:worker/task:1");
  CHECK(span_named(whole, "Rendezvous wait").duration_us() == 3);
  // The operator that used it says when it came.
  const Trace unanswered = run(true, true, false);
  REQUIRE(unanswered.transfers.size() == 1);
  CHECK(unanswered.transfers[0].arrived_us == 9);
  CHECK_FALSE(unanswered.transfers[0].arrival_recorded);
  // The sender began to answer when it had the tensor.
  const Trace unsent = run(false, true, false);
  REQUIRE(unsent.transfers.size() == 1);
  CHECK(unsent.transfers[0].produced_us == 5);
  CHECK(run(false, false, false).transfers.empty());
}

TEST_CASE("CTF tracers: the allocator's chunks, statistics and bins are its view of memory") {
  const Folder folder("dfsim_ctf_bfc_test");
  folder.write(
      "metadata",
      Tracer()
          .event("tensorflowTracer:operation_start", "string name;")
          .event("tensorflowTracer:operation_end", "string name;")
          .event("tensorflowTracer:allocate_raw_internal_exit",
                 "string name; string ptr; " +
                     integers("num_bytes rounded_bytes bin_num need_extend success"))
          .event("tensorflowTracer:deallocate_raw_internal_exit",
                 "string name; string ptr; " + integers("num_bytes"))
          .event("tensorflowTracer:bfc_chunks_stats",
                 "string allocator_name; " +
                     integers("total_bytes_in_use total_requested_bytes_in_use "
                              "total_wasted_bytes_in_use total_bytes total_requested_bytes "
                              "total_wasted_bytes chunks in_use_chunks free_chunks"))
          .event("tensorflowTracer:bfc_bins_stats",
                 "string allocator_name; " +
                     integers("bin_numero total_chunks_in_bin total_chunks_in_use "
                              "total_bytes_in_bin total_bytes_in_use total_requested_bytes_in_use"))
          .metadata());
  Stream s;
  const auto numbers = [&s](std::initializer_list<uint64_t> values) {
    for (const uint64_t value : values) {
      s.number(value, 8);
    }
  };
  s.event(0, 1000).text("conv");
  s.event(2, 1100).text("GPU_0_bfc").text("0x100");
  numbers({1000, 1024, 2, 0, 1});
  s.event(2, 1200).text("GPU_0_bfc").text("0x200");
  numbers({4000, 4096, 4, 0, 1});
  s.event(2, 1250).text("GPU_0_bfc").text("0x300");
  numbers({4000, 4096, 4, 0, 0});  // did not fit
  s.event(5, 1300).text("GPU_0_bfc");
  numbers({4, 3, 1, 12288, 4096, 4000});
  s.event(4, 1300).text("GPU_0_bfc");
  numbers({5120, 5000, 120, 20480, 5000, 120, 6, 2, 4});
  s.event(3, 1400).text("GPU_0_bfc").text("0x200");
  numbers({4000});
  s.event(1, 2000).text("conv");
  folder.write("channel_0", s.bytes());
  const TraceAnalysis analysis = analyze_trace(read_folder(folder));
  REQUIRE(analysis.memory.size() == 1);
  const AllocatorUse& use = analysis.memory[0];
  CHECK(use.device == 0);
  CHECK(use.allocator == "GPU_0_bfc");
  CHECK(use.peak_bytes == 5120);
  CHECK(use.wasted_bytes == 120);
  CHECK(use.reserved_bytes == 20480);
  CHECK(use.fragmentation == Approx(0.75));
  CHECK(use.chunks == 6);
  CHECK(use.free_chunks == 4);
  REQUIRE(use.at_peak.size() == 2);
  CHECK(use.at_peak[0].bytes == 4096);
  CHECK(use.at_peak[0].allocated_by == "conv");
  REQUIRE(use.bins.size() == 1);
  CHECK(use.bins[0].chunks_in_use == 1);
}

TEST_CASE("CTF tracers: counters of perf contexts and of kernels belong to operators") {
  const Folder folder("dfsim_ctf_counters_test");
  std::string head(kHeader);
  head.replace(
      head.find("vtid; };"), 8,
      "vtid; integer { size = 64; align = 8; signed = true; } perf_thread_instructions; };");
  folder.write(
      "metadata",
      Tracer()
          .event("tensorflowTracer:operation_start", "string name;")
          .event("tensorflowTracer:operation_end", "string name;")
          .event("hipTracer:function_entry", "string cat; string name;")
          .event("hipTracer:function_exit", "string cat; string name;")
          .event("hsa_runtime:kernel_start_nm", "string cat; " + integers("kernel_object") +
                                                    "string name; " + integers("timestamp"))
          .event("hsa_runtime:kernel_end_nm", "string cat; " + integers("kernel_object") +
                                                  "string name; " + integers("timestamp"))
          .event("hsa_runtime:perf_counter_uint64", "string cat; " +
                                                        integers("kernel_object counter_index") +
                                                        "string counter_name; " + integers("value"))
          .metadata(head));
  Stream s;
  const auto at = [&s](uint16_t id, uint64_t ns, uint64_t instructions) -> Stream& {
    return s.event(id, ns).number(instructions, 8);
  };
  at(0, 1000, 100).text("mm");
  at(2, 1100, 150).text("hip").text("hipLaunchKernel");
  at(3, 1200, 180).text("hip").text("hipLaunchKernel");
  at(1, 1300, 400).text("mm");
  at(4, 2000, 0).text("k").number(7, 8).text("gemm").number(2000, 8);
  at(5, 2001, 0).text("k").number(7, 8).text("gemm").number(2900, 8);
  at(6, 3000, 0).text("p").number(7, 8).number(0, 8).text("FetchSize").number(64, 8);
  at(6, 3000, 0).text("p").number(7, 8).number(1, 8).text("WriteSize").number(16, 8);
  folder.write("channel_0", s.bytes());
  const TraceAnalysis analysis = analyze_trace(read_folder(folder));
  const auto total = [&analysis](std::string_view name, std::string_view counter) {
    for (const CounterRow& row : analysis.counters) {
      if (row.name == name && row.counter == counter) {
        return row.total;
      }
    }
    return -1.0;
  };
  CHECK(total("mm", "perf_thread_instructions") == 300);
  CHECK(total("hipLaunchKernel", "perf_thread_instructions") == 30);
  CHECK(total("mm", "FetchSize") == 64);
  CHECK(total("mm", "WriteSize") == 16);
}

TEST_CASE("CTF tracers: interrupts and page faults belong to the operator that they hit") {
  const Folder folder("dfsim_ctf_irq_test");
  folder.write(
      "metadata",
      Tracer()
          .event("tensorflowTracer:operation_start", "string name;")
          .event("tensorflowTracer:operation_end", "string name;")
          .event("sched_switch", fmt::format("{0} prev_tid; {0} prev_state; string next_comm; "
                                             "{0} next_tid; string prev_comm;",
                                             kInt))
          .event("irq_handler_entry", fmt::format("{} irq; string name;", kInt))
          .event("irq_handler_exit", integers("irq ret"))
          .event("x86_exceptions_page_fault_user", integers("address"))
          .metadata());
  Stream s;
  s.event(0, 1000).text("mm");
  s.event(3, 2000).number(30, 8).text("nvme0q1");
  s.event(4, 2500).number(30, 8).number(1, 8);
  s.event(5, 3000).number(0x1000, 8);
  s.event(2, 3010).number(9, 8).number(2, 8).text("swapper").number(0, 8).text("python");
  s.event(2, 7010).number(0, 8).number(0, 8).text("python").number(9, 8).text("swapper");
  s.event(1, 8000).text("mm");
  folder.write("channel_0", s.bytes());
  const TraceAnalysis analysis = analyze_trace(read_folder(folder));
  REQUIRE(analysis.host_states.size() == 1);
  const HostStateRow& row = analysis.host_states[0];
  CHECK(row.interrupted_us == Approx(0.5));
  CHECK(row.interrupted_by == "nvme0q1");
  CHECK(row.page_faults == 1);
  CHECK(row.blocked_us == Approx(4));
  CHECK(row.blocked_in == "page fault");
}

}  // namespace
}  // namespace dfsim
