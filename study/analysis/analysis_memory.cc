// The allocator's view: memory over time, its peak, the tensors alive then, and what rounding and
// free chunks waste.
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

// The allocator's view from single allocations and frees.
AllocatorUse use_of_records(const Trace& trace, const std::vector<const MemoryRecord*>& records,
                            double start_us) {
  constexpr size_t kTensorsAtPeak = 20;
  AllocatorUse use;
  use.device = records.front()->device;
  use.allocator = trace.text(records.front()->allocator);
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
    use.timeline.emplace_back(record.time_us - start_us, in_use);
    use.max_reserved_bytes = std::max(use.max_reserved_bytes, record.reserved);
    if (i == 0 || in_use > use.peak_bytes) {
      use.peak_bytes = in_use;
      peak = i;
    }
  }
  use.peak_us = records[peak]->time_us - start_us;
  use.reserved_bytes = records[peak]->reserved;
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
    if (record->requested >= 0) {
      use.wasted_bytes = std::max<Bytes>(use.wasted_bytes, 0) + record->bytes - record->requested;
    }
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
        {record->bytes, allocating_op(trace, *record), record->time_us - start_us});
  }
  return use;
}

// The same from the allocator's statistics, which also know what was allocated before the trace.
// `use` may have single allocations already: their tensors stay.
void add_statistics(const Trace& trace, const std::vector<const AllocatorSample*>& samples,
                    double start_us, AllocatorUse* use) {
  const AllocatorSample* peak = nullptr;
  std::vector<std::pair<double, Bytes>> timeline;
  for (const AllocatorSample* sample : samples) {
    if (sample->bin >= 0) {
      continue;
    }
    use->max_reserved_bytes = std::max(use->max_reserved_bytes, sample->reserved);
    if (sample->requested >= 0 && sample->in_use >= sample->requested) {
      use->max_wasted_bytes = std::max(use->max_wasted_bytes, sample->in_use - sample->requested);
    }
    if (sample->in_use >= 0) {
      timeline.emplace_back(sample->time_us - start_us, sample->in_use);
      peak = peak == nullptr || sample->in_use > peak->in_use ? sample : peak;
    }
  }
  use->events += static_cast<int64_t>(samples.size());
  if (peak == nullptr) {
    return;
  }
  // Statistics come now and then: an allocation between two of them may be the peak.
  if (use->timeline.empty() || peak->in_use >= use->peak_bytes) {
    use->peak_bytes = peak->in_use;
    use->peak_us = peak->time_us - start_us;
    use->timeline = std::move(timeline);
  }
  use->reserved_bytes = use->reserved_bytes < 0 ? peak->reserved : use->reserved_bytes;
  if (peak->requested >= 0 && peak->in_use >= peak->requested) {
    use->wasted_bytes = peak->in_use - peak->requested;
  }
  use->chunks = peak->chunks;
  use->free_chunks =
      peak->chunks >= 0 && peak->chunks_in_use >= 0 ? peak->chunks - peak->chunks_in_use : -1;
  std::map<int64_t, const AllocatorSample*> bins;  // the state of each bin at the peak
  for (const AllocatorSample* sample : samples) {
    if (sample->bin >= 0 && (sample->time_us <= peak->time_us || bins.count(sample->bin) == 0)) {
      bins[sample->bin] = sample;
    }
  }
  for (const auto& [bin, sample] : bins) {
    if (sample->chunks > 0) {
      use->bins.push_back(
          {bin, sample->chunks, sample->chunks_in_use, sample->reserved, sample->in_use});
    }
  }
  use->allocator = trace.text(peak->allocator);
}

}  // namespace

void add_memory(const Trace& trace, TraceAnalysis* analysis) {
  using Key = std::pair<int64_t, std::string>;  // device, allocator
  std::map<Key, std::vector<const MemoryRecord*>> records;
  std::map<Key, std::vector<const AllocatorSample*>> samples;
  for (const MemoryRecord& record : trace.memory) {
    records[{record.device, trace.text(record.allocator)}].push_back(&record);
  }
  for (const AllocatorSample& sample : trace.allocators) {
    samples[{sample.device, trace.text(sample.allocator)}].push_back(&sample);
    records.try_emplace({sample.device, trace.text(sample.allocator)});
  }
  for (const auto& [key, of_allocator] : records) {
    AllocatorUse use;
    use.device = key.first;
    use.allocator = key.second;
    if (!of_allocator.empty()) {
      use = use_of_records(trace, of_allocator, analysis->start_us);
    }
    if (const auto found = samples.find(key); found != samples.end()) {
      add_statistics(trace, found->second, analysis->start_us, &use);
    }
    if (use.reserved_bytes > 0) {
      use.fragmentation =
          1 - static_cast<double>(use.peak_bytes) / static_cast<double>(use.reserved_bytes);
    }
    thin_out(&use.timeline, kTimelinePoints);
    analysis->memory.push_back(std::move(use));
  }
}

}  // namespace dfsim::inline study
