// The meaning of the tracepoints that CTF traces are read for: which event begins or ends what, and
// where the tracers of the GPU-dataflow tracing method (Zins and Dagenais, 2019) put names, sizes
// and devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "datasets/traces/ctf/ctf_event.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

// How the reader treats a class of events.
enum class CtfUse : uint8_t {
  kIgnored,
  kBegin,  // of a span
  kEnd,
  kSwitch,     // sched_switch
  kWakeup,     // sched_wakeup, sched_waking
  kFault,      // a page fault
  kInterrupt,  // begin of an interrupt's handler
  kInterruptEnd,
  kMemory,        // an allocation or a free
  kAllocator,     // statistics of an allocator
  kQueueStats,    // the length of a device's queue
  kTransfer,      // rendezvous and gRPC
  kLaunch,        // work is put into a device's queue
  kCounter,       // a performance counter of a kernel
  kCounterGroup,  // the counters of the next kernel follow
};

// A class of events, looked at once. "cudaTracer:runtime_api_entry" is the begin of "runtime_api".
struct CtfPoint {
  CtfUse use = CtfUse::kIgnored;
  SpanKind kind = SpanKind::kOther;  // of a span
  bool syscall = false;
  bool stream_copy = false;  // a call of the stream executor that copies
  std::string name;          // without the provider
  std::string base;          // without the suffix that says begin or end
  NameId base_id;            // the same in the trace
};

CtfPoint point_of(const CtfShape& shape);

// "Memcpy HtoD": the direction from a text, from CUPTI's number, or from the event's name, which
// `point` says.
std::string copy_title(const CtfEvent& event, std::string_view point);

// The bytes of a copy or memset: a number, or a number that a text holds; -1 where there is none.
int64_t point_bytes(const CtfEvent& event);

// The device of an allocator's event: 0 for "GPU_0_bfc" or "/device:GPU:0", -1 for the host.
int64_t allocator_device(const CtfEvent& event);

// "GPU_0_bfc"; "" where the event does not say.
std::string_view allocator_name(const CtfEvent& event);

// A whole text as a number; "0x" begins a hexadecimal one.
std::optional<uint64_t> whole_number(std::string_view text);

// An address, which some tracers write as a text ("0x7f00").
uint64_t address_of(const CtfEvent& event);

// "cudaLaunch" for "cudaLaunch_v3020" and for CUPTI's number of it ("13", of the runtime or the
// driver). Others stay as they are.
std::string call_name(std::string_view name, bool driver);

// The worker of a placement: "/job:worker/task:1" of "/job:worker/replica:0/task:1/device:GPU:0".
// "" for a placement without a job, or in a process of its own (/job:localhost).
std::string worker_of(std::string_view placement);

}  // namespace dfsim::inline datasets
