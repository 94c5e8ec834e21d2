// Formats that are folders: CTF (made here byte by byte) and MindSpore's profiles.
#include "tests/traces/ctf_writer.h"

namespace dfsim {
namespace {

std::string metadata() {
  return std::string(kHeader) +
         event_class(0, "tensorflowTracer:operation_start", "string name; string type;") +
         event_class(1, "tensorflowTracer:operation_end", "string name; string type;") +
         event_class(2, "cuptiTracer:runtime_api_entry",
                     fmt::format("string name; {} correlation_id;", kInt)) +
         event_class(3, "cuptiTracer:runtime_api_exit",
                     fmt::format("string name; {} correlation_id;", kInt)) +
         event_class(4, "cuptiTracer:kernel_begin",
                     fmt::format("string name; {0} correlation_id; {0} stream_id;", kInt)) +
         event_class(5, "cuptiTracer:kernel_end",
                     fmt::format("string name; {0} correlation_id; {0} stream_id;", kInt)) +
         event_class(6, "tensorflowTracer:memory_allocate",
                     fmt::format("{0} ptr; {0} num_bytes; string allocator_name;", kInt)) +
         event_class(7, "tensorflowTracer:memory_deallocate",
                     fmt::format("{0} ptr; string allocator_name;", kInt)) +
         event_class(8, "tensorflowTracer:rdv_recv", "string key;") +
         event_class(9, "tensorflowTracer:rdv_send", "string key;") +
         event_class(10, "tensorflowTracer:bfc_allocator_stats",
                     fmt::format("{} bytes_in_use;", kInt));
}

std::string stream() {
  Stream s;
  s.event(0, 1000).text("mm").text("MatMul");
  s.event(2, 2000).text("cudaLaunchKernel").number(42, 8);
  s.event(6, 2500).number(140, 8).number(512, 8).text("GPU_0_bfc");
  s.event(3, 4000).text("cudaLaunchKernel").number(42, 8);
  s.event(4, 5000).text("gemm").number(42, 8).number(7, 8);
  s.event(8, 5500).text("edge_3");
  s.event(10, 6000).number(512, 8);
  s.event(7, 7000).number(140, 8).text("GPU_0_bfc");
  s.event(9, 8500).text("edge_3");
  s.event(5, 9000).text("gemm").number(42, 8).number(7, 8);
  s.event(1, 10000).text("mm").text("MatMul");
  s.event(1, 11000).text("never").text("Begun");
  return s.bytes();
}

TEST_CASE("CTF: tracepoints of a framework, a GPU's runtime and its queues become one trace") {
  const Folder folder("dfsim_ctf_test");
  folder.write("metadata", metadata());
  folder.write("channel_0", stream());
  const auto trace = folder.read();
  INFO((trace.ok() ? "" : trace.status().message()));
  REQUIRE(trace.ok());
  CHECK(trace->format == "ctf");
  CHECK(list_spans(*trace) ==
        "MatMul 1-10, cudaLaunchKernel 2-4, gemm 5-9, Rendezvous wait 5.5-8.5");
  CHECK(trace->spans[0].kind == SpanKind::kOp);
  CHECK(trace->text(trace->spans[0].detail) == "mm");
  CHECK(trace->spans[2].kind == SpanKind::kKernel);
  CHECK(trace->spans[2].launch == SpanId(1));
  CHECK(trace->spans[2].op == SpanId(0));
  REQUIRE(trace->memory.size() == 2);
  CHECK(trace->memory[0].device == 0);
  CHECK(trace->memory[1].bytes == -512);
  CHECK(trace->allocators.size() == 1);
  CHECK(warnings_of(*trace, "never began") == 1);
}

TEST_CASE("CTF: work without correlation ids belongs to the operator that launched it") {
  // Two operators launch a kernel each; the second kernel overtakes the first. The end of the copy
  // carries another name than its begin, and sizes and addresses are texts.
  const Folder folder("dfsim_ctf_faces_test");
  const std::string classes =
      std::string(kHeader) + event_class(0, "tensorflowTracer:operation_start", "string name;") +
      event_class(1, "tensorflowTracer:operation_end", "string name;") +
      event_class(2, "cudaTracer:runtime_api_entry", "string name;") +
      event_class(3, "cudaTracer:runtime_api_exit", "string name;") +
      event_class(4, "cudaTracer:kernel_begin", "string name;") +
      event_class(5, "cudaTracer:kernel_end", "string name;") +
      event_class(6, "cudaTracer:memcpy_begin", "string name; string details;") +
      event_class(7, "cudaTracer:memcpy_end", "string name;") +
      event_class(8, "tensorflowTracer:memory_allocate",
                  fmt::format("string device; string ptr; {} bytes;", kInt));
  Stream s;
  s.event(0, 1000).text("first/Conv2D");
  s.event(2, 1100).text("cudaLaunch");
  s.event(3, 1200).text("cudaLaunch");
  s.event(1, 1300).text("first/Conv2D");
  s.event(0, 2000).text("second/Conv2D");
  s.event(2, 2100).text("cudaLaunch");
  s.event(3, 2200).text("cudaLaunch");
  s.event(8, 2250).text("GPU_1_bfc").text("0x7f00").number(4096, 8);
  s.event(1, 2300).text("second/Conv2D");
  s.event(4, 3000, 99).text("second");
  s.event(5, 4000, 99).text("second");
  s.event(4, 5000, 99).text("unlike");
  s.event(5, 6000, 99).text("unlike");
  s.event(6, 7000, 99).text("MEMCPYDtoH").text("2048");
  s.event(7, 8000, 99).text("done");
  folder.write("metadata", classes);
  folder.write("channel_0", s.bytes());
  const auto trace = folder.read();
  INFO((trace.ok() ? "" : trace.status().message()));
  REQUIRE(trace.ok());
  CHECK(list_spans(*trace) ==
        "first/Conv2D 1-1.3, cudaLaunch 1.1-1.2, second/Conv2D 2-2.3, cudaLaunch 2.1-2.2, "
        "second 3-4, unlike 5-6, Memcpy DtoH 7-8");
  const auto op_of = [&trace](size_t span) {
    return trace->text(trace->span(trace->spans[span].op).name);
  };
  CHECK(op_of(4) == "second/Conv2D");
  CHECK(op_of(5) == "first/Conv2D");
  CHECK(trace->spans[6].bytes == 2048);
  CHECK(copy_direction(trace->text(trace->spans[6].name)) == CopyDirection::kDeviceToHost);
  REQUIRE(trace->memory.size() == 1);
  CHECK(trace->memory[0].device == 1);
  CHECK(trace->memory[0].address == 0x7f00);
  CHECK(trace->warnings.empty());
}

TEST_CASE("CTF: scheduling events say when a thread was preempted, and by whom, or blocked") {
  const Folder folder("dfsim_ctf_states_test");
  folder.write("metadata",
               std::string(kHeader) +
                   event_class(0, "syscall_entry_read", fmt::format("{} fd;", kInt)) +
                   event_class(1, "syscall_exit_read", fmt::format("{} ret;", kInt)) +
                   event_class(2, "sched_switch",
                               fmt::format("{0} prev_tid; {0} prev_state; string next_comm; {0} "
                                           "next_tid; string prev_comm;",
                                           kInt)) +
                   event_class(3, "sched_wakeup", fmt::format("{} tid;", kInt)));
  const auto change = [](Stream& s, uint64_t ns, uint64_t from, uint64_t state,
                         std::string_view to_name, uint64_t to, std::string_view from_name) {
    s.event(2, ns, static_cast<uint32_t>(from)).number(from, 8).number(state, 8).text(to_name);
    s.number(to, 8).text(from_name);
  };
  Stream s;
  s.event(0, 1000).number(3, 8);
  change(s, 2000, 9, 1, "swapper", 0, "python");  // sleeps in read()
  s.event(3, 5000, 0).number(9, 8);               // is woken
  change(s, 5500, 0, 0, "python", 9, "swapper");
  s.event(1, 6000).number(64, 8);
  change(s, 7000, 9, 0, "backup", 77, "python");  // could go on
  change(s, 9000, 77, 0, "python", 9, "backup");
  folder.write("channel_0", s.bytes());
  const auto trace = folder.read();
  INFO((trace.ok() ? "" : trace.status().message()));
  REQUIRE(trace.ok());
  REQUIRE(trace->pauses.size() == 2);
  const ThreadPause& blocked = trace->pauses[0];
  CHECK(blocked.kind == ThreadPause::Kind::kBlocked);
  CHECK(trace->text(blocked.cause) == "read");
  CHECK(blocked.start_us == 2);
  CHECK(blocked.end_us == 5.5);
  const ThreadPause& preempted = trace->pauses[1];
  CHECK(preempted.kind == ThreadPause::Kind::kPreempted);
  CHECK(trace->text(preempted.cause) == "backup");
  CHECK(preempted.end_us - preempted.start_us == 2);
  CHECK(preempted.thread == 9);
}

TEST_CASE("CTF: cut streams, broken metadata and empty traces are read partly or refused") {
  const Folder cut("dfsim_ctf_cut_test");
  cut.write("metadata", metadata());
  cut.write("channel_0", stream().substr(0, 150));
  const auto trace = cut.read();
  if (trace.ok()) {
    CHECK_FALSE(trace->warnings.empty());
  } else {
    CHECK(trace.status().message().find('\n') == std::string::npos);
  }
  cut.write("metadata", "/* CTF 1.8 */ trace { major = ");
  const auto broken = cut.read();
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.status().message().find('\n') == std::string::npos);
  const Folder empty("dfsim_ctf_empty_test");
  empty.write("metadata", metadata());
  CHECK_FALSE(empty.read().ok());
}

TEST_CASE("CTF: a file that crashes the reading library is refused with one line") {
  const Folder folder("dfsim_ctf_deadly_test");
  std::string deadly = metadata();
  const size_t frequency = deadly.find("freq = 1000000000");  // of a clock, by which it divides
  REQUIRE(frequency != std::string::npos);
  deadly.replace(frequency, std::string_view("freq").size(), "qerf");
  folder.write("metadata", deadly);
  folder.write("channel_0", stream());
  const auto trace = folder.read();
  REQUIRE_FALSE(trace.ok());
  CHECK(trace.status().message().find("libbabeltrace2") != std::string::npos);
  CHECK(trace.status().message().find('\n') == std::string::npos);
  // And this program reads on.
  folder.write("metadata", metadata());
  CHECK(folder.read().ok());
}

TEST_CASE("Trace directories: one without a trace is refused with one line") {
  const Folder folder("dfsim_no_trace_test");
  folder.write("notes.txt", "nothing");
  const auto trace = folder.read();
  REQUIRE_FALSE(trace.ok());
  CHECK(trace.status().message().find('\n') == std::string::npos);
}

TEST_CASE("MindSpore: operators on their streams, with starts where they are recorded") {
  const Folder folder("dfsim_mindspore_trace_test");
  folder.write("profiler/framework_raw_2.csv",
               "task_id,stream_id,block_dim,full_op_name,op_name,op_type,subgraph,op_info\n"
               "0,3,8,Default/net/Conv2D-op1,Conv2D-op1,Conv2D,Default,{}\n"
               "1,3,8,Default/net/AllReduce-op2,AllReduce-op2,AllReduce,Default,{}\n");
  folder.write("profiler/aicore_intermediate_2_detail.csv",
               "full_op_name,execution_time\n"
               "Default/net/Conv2D-op1,0.5\n"
               "Default/net/AllReduce-op2,0.25\n"
               "Default/net/Relu-op3,-1\n");
  const auto trace = folder.read();
  INFO((trace.ok() ? "" : trace.status().message()));
  REQUIRE(trace.ok());
  CHECK(trace->format == "mindspore");
  CHECK(list_spans(*trace) == "Conv2D 0-500, AllReduce 500-750");
  CHECK(trace->spans[1].communication);
  CHECK(trace->track(trace->spans[0].track).device == 2);
  CHECK(warnings_of(*trace, "without a start") == 3);
  CHECK(warnings_of(*trace, "negative") == 1);

  folder.write("profiler/output_timeline_data_2.txt",
               "op_name,stream_id,start_time(ms),duration(ms)\n"
               "Default/net/AllReduce-op2,4,2.0,0.25\nDefault/net/Conv2D-op1,3,1.0,0.5\n");
  const auto timed = read_trace(folder.path() + "/profiler/framework_raw_2.csv");
  REQUIRE(timed.ok());
  CHECK(list_spans(*timed) == "Conv2D 1000-1500, AllReduce 2000-2250");
  CHECK(timed->warnings.empty());
}

TEST_CASE("Trace directories: one with only unknown files is refused with one line") {
  const Folder folder("dfsim_no_trace_test");
  folder.write("notes.txt", "hello");
  const auto trace = folder.read();
  REQUIRE_FALSE(trace.ok());
  CHECK(trace.status().message().find("is a folder") != std::string::npos);
  CHECK(trace.status().message().find('\n') == std::string::npos);
}

}  // namespace
}  // namespace dfsim
