// The meaning of the tracepoints that CTF traces are read for: which event begins or ends what, and
// where the tracers of the GPU-dataflow tracing method (Zins and Dagenais, 2019) put names, sizes
// and devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datasets/traces/ctf/ctf_event.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

// "operation_start" is the begin of "operation".
struct CtfPoint {
  std::string_view base;
  bool begin = false;
  bool end = false;
};

CtfPoint point_of(std::string_view event);

// The kind of the spans of a tracepoint: device work for the tracers of GPUs (cuptiTracer,
// cudaTracer, hcTracer, hsaTracer, hipTracer), kOther for what is not known.
SpanKind point_kind(std::string_view provider, std::string_view base);

// The name of the span that the event begins or ends; "" where it has none.
std::string_view point_name(const CtfEvent& event);

// The bytes of a copy or memset: a number, or a number that a text holds; -1 where there is none.
int64_t point_bytes(const CtfEvent& event);

// "Memcpy HtoD": the direction from a text, from CUPTI's number, or from the event's name.
std::string copy_title(const CtfEvent& event);

// The device of an allocator's event: 0 for "GPU_0_bfc", -1 for the host.
int64_t allocator_device(const CtfEvent& event);

// An address, which some tracers write as a text ("0x7f00").
uint64_t address_of(const CtfEvent& event);

}  // namespace dfsim::inline datasets
