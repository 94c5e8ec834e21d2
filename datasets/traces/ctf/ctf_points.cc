// The names of fields and tracepoints, gathered from the tracers' own headers.
#include "datasets/traces/ctf/ctf_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

// A whole text as a number; "0x" begins a hexadecimal one.
std::optional<uint64_t> whole_text(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  text.remove_prefix(hexadecimal ? 2 : 0);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

bool is_gpu_tracer(std::string_view provider) {
  constexpr std::array<std::string_view, 6> kTracers = {
      "cuptiTracer", "cudaTracer", "hcTracer", "hsaTracer", "hipTracer", "streamTracer"};
  return std::ranges::find(kTracers, provider) != kTracers.end();
}

}  // namespace

CtfPoint point_of(std::string_view event) {
  struct Suffix {
    std::string_view text;
    bool begin;
  };
  constexpr std::array kSuffixes = {Suffix{"_start", true}, Suffix{"_begin", true},
                                    Suffix{"_entry", true}, Suffix{"_end", false},
                                    Suffix{"_exit", false}};
  for (const Suffix& suffix : kSuffixes) {
    if (event.ends_with(suffix.text)) {
      return {event.substr(0, event.size() - suffix.text.size()), suffix.begin, !suffix.begin};
    }
  }
  for (const std::string_view prefix : {"syscall_entry_", "syscall_exit_"}) {
    if (event.starts_with(prefix)) {
      const bool begin = prefix == "syscall_entry_";
      return {event.substr(prefix.size()), begin, !begin};
    }
  }
  return {event, false, false};
}

SpanKind point_kind(std::string_view provider, std::string_view base) {
  if (provider == "tensorflowTracer") {
    return base == "session"             ? SpanKind::kAnnotation
           : base.ends_with("operation") ? SpanKind::kOp
                                         : SpanKind::kOther;
  }
  if (!is_gpu_tracer(provider)) {
    return SpanKind::kOther;
  }
  return base == "kernel"                              ? SpanKind::kKernel
         : base.ends_with("memcpy")                    ? SpanKind::kCopy
         : base.ends_with("memset")                    ? SpanKind::kMemset
         : base.ends_with("api") || base == "function" ? SpanKind::kRuntime
                                                       : SpanKind::kOther;
}

std::string_view point_name(const CtfEvent& event) {
  return event.text({"name", "op_name", "operation_name", "node_name", "kernel_name",
                     "function_name", "funcname", "function", "cb_name", "method", "tensor_name",
                     "key"});
}

int64_t point_bytes(const CtfEvent& event) {
  const int64_t number = event.integer({"bytes", "size_bytes", "size", "num_bytes"});
  if (number >= 0) {
    return number;
  }
  const auto written = whole_text(event.text({"details", "bytes", "size"}));
  return written && *written < uint64_t{1} << 60 ? static_cast<int64_t>(*written) : -1;
}

std::string copy_title(const CtfEvent& event) {
  constexpr std::array<std::string_view, 11> kKinds = {
      "", "HtoD", "DtoH", "HtoD", "DtoH", "DtoD", "DtoD", "DtoD", "DtoD", "HtoH", "PtoP"};
  const int64_t number = event.integer({"kind", "copy_kind", "copyKind"}, 0);
  if (number > 0 && number < static_cast<int64_t>(kKinds.size())) {
    return fmt::format("Memcpy {}", kKinds[number]);
  }
  for (const std::string_view text :
       {event.text({"kind", "copy_kind", "direction"}), point_name(event)}) {
    for (const std::string_view kind : {"HtoD", "DtoH", "DtoD", "PtoP", "HtoH"}) {
      if (to_lower(text).find(to_lower(kind)) != std::string::npos) {
        return fmt::format("Memcpy {}", kind);
      }
    }
  }
  const std::string_view text = event.text({"kind", "copy_kind", "direction"});
  return text.empty() ? "Memcpy" : "Memcpy " + printable(text);
}

int64_t allocator_device(const CtfEvent& event) {
  const std::string allocator = to_lower(event.text({"allocator_name", "allocator", "device"}));
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
  const auto written = whole_text(event.text({"ptr", "address", "addr"}));
  return written ? *written : static_cast<uint64_t>(event.integer({"ptr", "address", "addr"}, 0));
}

}  // namespace dfsim::inline datasets
