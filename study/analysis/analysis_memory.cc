// Memory over time from allocations and frees, and the operators that allocated what was alive
// at the peak.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "study/analysis/analysis_parts.h"

namespace dfsim::inline study {
namespace {

// The innermost operator that a thread was in. O(spans), so only for the few at the peak.
std::string allocating_op(const Trace& trace, const MemoryRecord& record) {
  if (record.tensor.valid()) {
    return trace.text(record.tensor);
  }
  const Span* innermost = nullptr;
  for (const Span& span : trace.spans) {
    if (span.start_us > record.time_us) {
      break;
    }
    if (span.kind == SpanKind::kOp && span.track == record.track && span.end_us >= record.time_us) {
      innermost = &span;
    }
  }
  return innermost == nullptr ? "" : trace.text(innermost->name);
}

// Keeps about `count` points: of each piece of the list its highest.
void thin_out(std::vector<std::pair<double, Bytes>>* points, size_t count) {
  if (points->size() <= count) {
    return;
  }
  std::vector<std::pair<double, Bytes>> kept;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * points->size() / count;
    const size_t end = (i + 1) * points->size() / count;
    kept.push_back(
        *std::max_element(points->begin() + static_cast<std::ptrdiff_t>(begin),
                          points->begin() + static_cast<std::ptrdiff_t>(end),
                          [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  *points = std::move(kept);
}

}  // namespace

void add_memory(const Trace& trace, TraceAnalysis* analysis) {
  constexpr size_t kTensorsAtPeak = 20;
  std::map<int64_t, std::vector<const MemoryRecord*>> devices;
  for (const MemoryRecord& record : trace.memory) {
    devices[record.device].push_back(&record);
  }
  for (const auto& [device, records] : devices) {
    AllocatorUse use;
    use.device = device;
    use.events = static_cast<int64_t>(records.size());
    Bytes in_use = 0;
    size_t peak = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      const MemoryRecord& record = *records[i];
      // The allocator's own total counts what was allocated before the trace as well.
      if (record.allocated >= 0) {
        in_use = record.allocated;
      } else if (__builtin_add_overflow(in_use, record.bytes, &in_use)) {
        in_use = 0;  // sizes that no memory has
      }
      use.timeline.emplace_back(record.time_us - analysis->start_us, in_use);
      use.max_reserved_bytes = std::max(use.max_reserved_bytes, record.reserved);
      if (i == 0 || in_use > use.peak_bytes) {
        use.peak_bytes = in_use;
        peak = i;
      }
    }
    use.peak_us = records[peak]->time_us - analysis->start_us;
    use.reserved_bytes = records[peak]->reserved;
    if (use.reserved_bytes > 0) {
      use.fragmentation =
          1 - static_cast<double>(use.peak_bytes) / static_cast<double>(use.reserved_bytes);
    }
    std::unordered_map<uint64_t, const MemoryRecord*> live;
    for (size_t i = 0; i <= peak; ++i) {
      if (records[i]->bytes > 0) {
        live[records[i]->address] = records[i];
      } else if (records[i]->bytes < 0) {
        live.erase(records[i]->address);
      }
    }
    std::vector<const MemoryRecord*> largest;
    for (const auto& [address, record] : live) {
      largest.push_back(record);
    }
    std::sort(largest.begin(), largest.end(), [](const MemoryRecord* a, const MemoryRecord* b) {
      if (a->bytes != b->bytes) {
        return a->bytes > b->bytes;
      }
      return a->time_us != b->time_us ? a->time_us < b->time_us : a->address < b->address;
    });
    largest.resize(std::min(largest.size(), kTensorsAtPeak));
    for (const MemoryRecord* record : largest) {
      use.at_peak.push_back(
          {record->bytes, allocating_op(trace, *record), record->time_us - analysis->start_us});
    }
    thin_out(&use.timeline, kTimelinePoints);
    analysis->memory.push_back(std::move(use));
  }
}

}  // namespace dfsim::inline study
