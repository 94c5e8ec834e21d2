// Differences of counts for spans of the host; order for kernels.
#include "datasets/traces/ctf/ctf_counters.h"

#include <algorithm>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

constexpr size_t kMostCounters = 64;  // of one event

// "perf_thread_instructions" is a context; so is "perf_cpu_cycles".
bool is_perf_context(std::string_view field) { return field.starts_with("perf_"); }

}  // namespace

CounterEvents::Counts CounterEvents::counts_of(const CtfEvent& event, Trace* trace) {
  const auto [known, is_new] = contexts_.try_emplace(event.shape);
  if (is_new) {
    const std::vector<std::string>& fields = event.shape->fields;
    for (size_t i = event.shape->payload; i < fields.size(); ++i) {
      if (is_perf_context(fields[i]) && known->second.size() < kMostCounters) {
        known->second.push_back(i);
      }
    }
  }
  Counts counts;
  for (const size_t i : known->second) {
    const CtfField& field = event.fields[i];
    if (field.kind == CtfField::Kind::kInteger) {
      counts.emplace_back(trace->intern(printable(field.name, 100)), field.integer);
    }
  }
  return counts;
}

void CounterEvents::add(const Counts& begin, const Counts& end, size_t span, Trace* trace) {
  for (const auto& [name, count] : end) {
    const auto before =
        std::ranges::find(begin, name, [](const auto& entry) { return entry.first; });
    // A counter that the kernel had to share wraps or restarts: its difference means nothing.
    if (before != begin.end() && count >= before->second) {
      const auto difference =
          static_cast<double>(static_cast<uint64_t>(count) - static_cast<uint64_t>(before->second));
      trace->span_counters.push_back({SpanId(span), name, difference});
    }
  }
}

void CounterEvents::next_kernel() {
  ++kernels_;
  announced_ = true;
}

void CounterEvents::counter(const CtfEvent& event, Trace* trace) {
  const CtfField* const value = event.find({"value"});
  const std::string_view name = event.text({"counter_name", "name"});
  if (value == nullptr || value->kind == CtfField::Kind::kText || name.empty()) {
    return;
  }
  // Without announcements a counter that is not after the last one begins a kernel.
  const int64_t index = event.integer({"counter_index"});
  if (!announced_ && (kernels_ == 0 || index <= last_index_)) {
    ++kernels_;
  }
  last_index_ = index;
  if (kernels_ > 0) {
    of_kernels_.push_back({kernels_ - 1, trace->intern(printable(name, 100)),
                           value->kind == CtfField::Kind::kReal
                               ? value->real
                               : static_cast<double>(static_cast<uint64_t>(value->integer))});
  }
}

void CounterEvents::finish(Trace* trace) {
  if (of_kernels_.empty()) {
    return;
  }
  std::vector<size_t> kernels;
  for (size_t i = 0; i < trace->spans.size(); ++i) {
    if (trace->spans[i].kind == SpanKind::kKernel) {
      kernels.push_back(i);
    }
  }
  std::ranges::stable_sort(kernels, {}, [trace](size_t i) { return trace->spans[i].start_us; });
  if (kernels.size() != kernels_) {
    trace->warn("performance counters whose kernel is not clear, left out", 0,
                static_cast<int64_t>(of_kernels_.size()));
    return;
  }
  for (const KernelCounter& counter : of_kernels_) {
    trace->span_counters.push_back({SpanId(kernels[counter.kernel]), counter.name, counter.value});
  }
}

}  // namespace dfsim::inline datasets
