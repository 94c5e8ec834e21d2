// The names of fields and tracepoints, gathered from the tracers' own headers.
#include "datasets/traces/ctf/ctf_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_gpu_tracer(std::string_view provider) {
  constexpr std::array<std::string_view, 9> kTracers = {
      "cuptiTracer", "cudaTracer",  "hcTracer",           "hccTracer",   "hsaTracer",
      "hipTracer",   "hsa_runtime", "interceptionTracer", "openclTracer"};
  return std::ranges::find(kTracers, provider) != kTracers.end();
}

// Whether the name says that something begins or ends, and what is left of it.
bool split_suffix(std::string_view name, CtfPoint* point) {
  struct Suffix {
    std::string_view text;
    bool begin;
  };
  constexpr std::array kSuffixes = {Suffix{"_start_nm", true}, Suffix{"_end_nm", false},
                                    Suffix{"_start", true},    Suffix{"_begin", true},
                                    Suffix{"_entry", true},    Suffix{"_end", false},
                                    Suffix{"_exit", false}};
  for (const Suffix& suffix : kSuffixes) {
    if (name.ends_with(suffix.text)) {
      point->base = name.substr(0, name.size() - suffix.text.size());
      point->use = suffix.begin ? CtfUse::kBegin : CtfUse::kEnd;
      return true;
    }
  }
  // Older streamTracer: "test_start_ThenMemcpy_host_to_device".
  for (const std::string_view prefix : {"test_start_", "test_end_"}) {
    if (name.starts_with(prefix)) {
      point->base = name.substr(prefix.size());
      point->use = prefix == "test_start_" ? CtfUse::kBegin : CtfUse::kEnd;
      return true;
    }
  }
  return false;
}

SpanKind span_kind_of(std::string_view provider, std::string_view base) {
  if (provider == "tensorflowTracer") {
    return base == "session"             ? SpanKind::kAnnotation
           : base.ends_with("operation") ? SpanKind::kOp
                                         : SpanKind::kOther;
  }
  if (provider == "streamTracer") {
    return SpanKind::kRuntime;  // the stream executor's calls on the host
  }
  if (!is_gpu_tracer(provider)) {
    return SpanKind::kOther;
  }
  if (base.ends_with("api") || base == "function" || base == "unpinned_memory_engine_copy") {
    return SpanKind::kRuntime;
  }
  // "kernel_log" and "kernel2" come from the log of HCC's own profiler.
  return base.starts_with("kernel")                           ? SpanKind::kKernel
         : contains(base, "memcpy") || contains(base, "copy") ? SpanKind::kCopy
         : contains(base, "memset")                           ? SpanKind::kMemset
         : base.starts_with("barrier")                        ? SpanKind::kSync
                                                              : SpanKind::kOther;
}

CtfUse kernel_use(std::string_view name) {
  if (name == "sched_switch") {
    return CtfUse::kSwitch;
  }
  if (name == "sched_wakeup" || name == "sched_waking" || name == "sched_wakeup_new") {
    return CtfUse::kWakeup;
  }
  if (contains(name, "page_fault")) {
    return CtfUse::kFault;
  }
  if (name.starts_with("irq_handler_") || name.starts_with("softirq_e")) {
    return name.ends_with("entry")  ? CtfUse::kInterrupt
           : name.ends_with("exit") ? CtfUse::kInterruptEnd
                                    : CtfUse::kIgnored;
  }
  return CtfUse::kIgnored;
}

CtfUse framework_use(std::string_view name) {
  if (name.starts_with("memory_") || name.starts_with("allocate_raw_internal_exit") ||
      name.starts_with("deallocate_raw_internal_exit") || name.starts_with("pool_memory_")) {
    return CtfUse::kMemory;
  }
  if (name.starts_with("bfc_") || name == "find_chunk_ptr") {
    return CtfUse::kAllocator;
  }
  if (name == "queue_stats") {
    return CtfUse::kQueueStats;
  }
  if (name.starts_with("rdv_") || name.starts_with("Encode") || contains(name, "_request") ||
      name.starts_with("prepare_response_tensor")) {
    return CtfUse::kTransfer;
  }
  if (name == "kernel_queued" || name == "aql_kernel_dispatch_packet_submitted") {
    return CtfUse::kLaunch;
  }
  if (name.starts_with("perf_counter_")) {
    return CtfUse::kCounter;
  }
  return name == "kernel_parameters" ? CtfUse::kCounterGroup : CtfUse::kIgnored;
}

}  // namespace

CtfPoint point_of(const CtfShape& shape) {
  CtfPoint point;
  const std::string_view full = shape.name;
  const size_t colon = full.find(':');
  const std::string_view provider = colon == std::string_view::npos ? "" : full.substr(0, colon);
  const std::string_view name = colon == std::string_view::npos ? full : full.substr(colon + 1);
  point.name = name;
  point.base = name;
  for (const std::string_view prefix : {"syscall_entry_", "syscall_exit_"}) {
    if (name.starts_with(prefix)) {
      point.syscall = true;
      point.use = prefix == "syscall_entry_" ? CtfUse::kBegin : CtfUse::kEnd;
      point.base = name.substr(prefix.size());
      return point;
    }
  }
  point.use = provider.empty() ? kernel_use(name) : framework_use(name);
  if (point.use != CtfUse::kIgnored) {
    split_suffix(name, &point);  // for the base only
    point.use = provider.empty() ? kernel_use(name) : framework_use(name);
    return point;
  }
  if (!split_suffix(name, &point) && (name == "begin" || name == "end")) {  // older hipTracer
    point.base = "function";
    point.use = name == "begin" ? CtfUse::kBegin : CtfUse::kEnd;
  }
  point.kind = span_kind_of(provider, point.base);
  point.stream_copy = provider == "streamTracer" && contains(to_lower(point.base), "memcpy");
  return point;
}

std::optional<uint64_t> whole_number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  text.remove_prefix(hexadecimal ? 2 : 0);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

int64_t point_bytes(const CtfEvent& event) {
  const int64_t number = event.integer({"bytes", "size_bytes", "size", "num_bytes"});
  if (number >= 0) {
    return number;
  }
  const auto written = whole_number(event.text({"details", "bytes", "size"}));
  return written && *written < uint64_t{1} << 60 ? static_cast<int64_t>(*written) : -1;
}

std::string copy_title(const CtfEvent& event, std::string_view point) {
  constexpr std::array<std::string_view, 11> kKinds = {
      "", "HtoD", "DtoH", "HtoD", "DtoH", "DtoD", "DtoD", "DtoD", "DtoD", "HtoH", "PtoP"};
  const int64_t number = event.integer({"kind", "copy_kind", "copyKind"}, 0);
  if (number > 0 && number < static_cast<int64_t>(kKinds.size())) {
    return fmt::format("Memcpy {}", kKinds[static_cast<size_t>(number)]);
  }
  if (event.integer({"isPeerToPeer"}, 0) > 0) {
    return "Memcpy PtoP";
  }
  const std::string_view given = event.text({"kind", "copy_kind", "direction"});
  for (const std::string_view text : {given, event.text(CtfRole::kName), point}) {
    switch (copy_direction(text)) {
      case CopyDirection::kHostToDevice:
        return "Memcpy HtoD";
      case CopyDirection::kDeviceToHost:
        return "Memcpy DtoH";
      case CopyDirection::kDeviceToDevice:
        return "Memcpy DtoD";
      case CopyDirection::kPeer:
        return "Memcpy PtoP";
      case CopyDirection::kUnknown:
        break;
    }
  }
  return given.empty() ? "Memcpy" : "Memcpy " + printable(given);
}

std::string_view allocator_name(const CtfEvent& event) {
  const std::string_view named = event.text({"allocator_name", "allocator", "device"});
  // The chunk's tracepoints have the allocator in `name`.
  return named.empty() && event.name().ends_with("_raw_internal_exit") ? event.text(CtfRole::kName)
                                                                       : named;
}

int64_t allocator_device(const CtfEvent& event) {
  const std::string allocator = to_lower(allocator_name(event));
  const size_t gpu = allocator.find("gpu");
  if (gpu == std::string::npos) {
    return event.integer({"device_id"}, -1);
  }
  size_t digit = gpu + 3;
  while (digit < allocator.size() && (allocator[digit] == '_' || allocator[digit] == ':')) {
    ++digit;
  }
  int64_t device = 0;
  std::from_chars(allocator.data() + digit, allocator.data() + allocator.size(), device);
  return event.integer({"device_id"}, device);
}

uint64_t address_of(const CtfEvent& event) {
  const auto written = whole_number(event.text({"ptr", "address", "addr"}));
  return written ? *written : static_cast<uint64_t>(event.integer({"ptr", "address", "addr"}, 0));
}

std::string worker_of(std::string_view placement) {
  if (!placement.starts_with("/job:") || placement.starts_with("/job:localhost")) {
    return "";
  }
  const std::string_view job = placement.substr(0, placement.find('/', 1));
  const size_t task = placement.find("/task:");
  return task == std::string_view::npos
             ? std::string(job)
             : fmt::format("{}{}", job,
                           placement.substr(task, placement.find('/', task + 1) - task));
}

}  // namespace dfsim::inline datasets
