// AllocatorEvents: what a trace says about memory. TensorFlow's BFC allocator holds memory of a
// device and hands it out in chunks; the trace has single allocations and frees, the allocator's
// statistics, or both.
#pragma once

#include <unordered_map>

#include "datasets/traces/ctf/ctf_event.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

class AllocatorEvents {
 public:
  // memory_allocate, memory_deallocate, [de]allocate_raw_internal_exit, pool_memory_*.
  void allocation(const CtfEvent& event, std::string_view name, double time_us, TrackId track,
                  Trace* trace);
  // bfc_allocator_stats, bfc_chunks_stats, bfc_bins_stats.
  static void statistics(const CtfEvent& event, double time_us, Trace* trace);

 private:
  std::unordered_map<uint64_t, Bytes> sizes_;  // by address: frees often name the address only
};

}  // namespace dfsim::inline datasets
