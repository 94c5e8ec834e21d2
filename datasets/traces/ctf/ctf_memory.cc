// Allocations become memory records, statistics become samples of the allocator's state.
#include "datasets/traces/ctf/ctf_memory.h"

#include <algorithm>

#include "base/text.h"
#include "datasets/traces/ctf/ctf_points.h"

namespace dfsim::inline datasets {
namespace {

constexpr Bytes kMostBytes = Bytes{1} << 60;

Bytes bytes_in(const CtfEvent& event, std::initializer_list<std::string_view> names) {
  return std::clamp<Bytes>(event.integer(names), -1, kMostBytes);
}

}  // namespace

void AllocatorEvents::allocation(const CtfEvent& event, std::string_view name, double time_us,
                                 TrackId track, Trace* trace) {
  MemoryRecord record;
  record.time_us = time_us;
  record.track = track;
  record.address = address_of(event);
  // A chunk is as large as the request rounded up.
  const Bytes asked = bytes_in(event, {"num_bytes", "bytes", "size", "allocated_bytes"});
  const Bytes bytes = std::max<Bytes>(
      0, bytes_in(event, {"rounded_bytes"}) > 0 ? bytes_in(event, {"rounded_bytes"}) : asked);
  const bool frees = name.starts_with("dealloc") || name.find("dealloc") != name.npos ||
                     name.find("free") != name.npos;
  if (!frees) {
    if (event.integer({"success"}, 1) == 0) {
      return;  // the allocator had no such chunk
    }
    record.bytes = bytes;
    record.requested = asked;
    sizes_[record.address] = bytes;
  } else {
    const auto known = sizes_.find(record.address);
    record.bytes = known != sizes_.end() ? -known->second : -bytes;
    if (known != sizes_.end()) {
      sizes_.erase(known);
    }
  }
  // Pools of HSA have a handle, and belong to a GPU.
  const bool pool = name.starts_with("pool_memory_");
  record.device = pool ? 0 : allocator_device(event);
  const std::string_view allocator = allocator_name(event);
  if (!allocator.empty()) {
    record.allocator = trace->intern(printable(allocator, 200));
  }
  const std::string_view tensor = event.text({"tensor_name", "op_name"});
  if (!tensor.empty()) {
    record.tensor = trace->intern(printable(tensor, 1000));
  }
  trace->memory.push_back(record);
}

void AllocatorEvents::statistics(const CtfEvent& event, double time_us, Trace* trace) {
  AllocatorSample sample;
  sample.time_us = time_us;
  const std::string_view allocator = allocator_name(event);
  sample.allocator = trace->intern(printable(allocator, 200));
  sample.device = allocator_device(event);
  sample.bin = event.integer({"bin_numero", "bin_num", "bin"});
  sample.in_use = bytes_in(event, {"total_bytes_in_use", "bytes_in_use"});
  sample.requested = bytes_in(event, {"total_requested_bytes_in_use"});
  if (const Bytes wasted = bytes_in(event, {"total_wasted_bytes_in_use"});
      sample.requested < 0 && wasted >= 0 && sample.in_use >= wasted) {
    sample.requested = sample.in_use - wasted;
  }
  sample.reserved = bytes_in(event, {"total_bytes", "total_bytes_in_bin"});
  sample.chunks = event.integer({"chunks", "total_chunks_in_bin"});
  sample.chunks_in_use = event.integer({"in_use_chunks", "total_chunks_in_use"});
  sample.allocations = event.integer({"num_allocs"});
  trace->allocators.push_back(sample);
}

}  // namespace dfsim::inline datasets
