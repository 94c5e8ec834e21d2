// The steps that every format has in common after its reader is done: sort spans, nest host
// spans of a thread by time, link launches to kernels and operators, and mark communication.
// Readers only record spans and ids. Host clocks are read twice per span, so spans that overlap
// by rounding alone count as following each other.
#include "datasets/traces/trace.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

// Host spans of a thread may overlap by so little without being wrong: clocks are read twice.
constexpr double kSlackUs = 0.0015;

// Puts span order[i] at place i, without a second array: spans take half of the memory of a large
// trace. Follows each cycle of the permutation once and leaves `order` sorted.
void permute(std::vector<uint32_t>* order, std::vector<Span>* spans) {
  for (uint32_t first = 0; first < order->size(); ++first) {
    if ((*order)[first] == first) {
      continue;
    }
    const Span moved = (*spans)[first];
    uint32_t at = first;
    while ((*order)[at] != first) {
      const uint32_t next = (*order)[at];
      (*spans)[at] = (*spans)[next];
      (*order)[at] = at;
      at = next;
    }
    (*spans)[at] = moved;
    (*order)[at] = at;
  }
}

void sort_spans(Trace* trace) {
  std::vector<uint32_t> order(trace->spans.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [trace](uint32_t a, uint32_t b) {
    const Span& x = trace->spans[a];
    const Span& y = trace->spans[b];
    return x.start_us != y.start_us ? x.start_us < y.start_us : x.end_us > y.end_us;
  });
  std::vector<SpanId> new_id(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    new_id[order[i]] = SpanId(i);
  }
  permute(&order, &trace->spans);
  for (SyncTarget& sync : trace->syncs) {
    sync.span = new_id[sync.span.index()];
  }
  for (Transfer& transfer : trace->transfers) {
    transfer.span = new_id[transfer.span.index()];
  }
  for (SpanCounter& counter : trace->span_counters) {
    counter.span = new_id[counter.span.index()];
  }
}

// Parents on host tracks, by nesting in time.
void nest_spans(Trace* trace) {
  std::vector<std::vector<SpanId>> stacks(trace->tracks.size());
  for (size_t i = 0; i < trace->spans.size(); ++i) {
    Span& span = trace->spans[i];
    if (trace->track(span.track).kind != TrackKind::kHost) {
      continue;
    }
    std::vector<SpanId>& stack = stacks[span.track.index()];
    // The later of two spans without a duration at the same time is not a child, nor is one that
    // follows the other but for the rounding of their times.
    const auto is_over = [&span](const Span& before) {
      return before.end_us <= span.start_us ||
             (before.end_us < span.end_us && before.end_us <= span.start_us + kSlackUs);
    };
    while (!stack.empty() && is_over(trace->span(stack.back()))) {
      stack.pop_back();
    }
    if (!stack.empty()) {
      span.parent = stack.back();
      if (span.end_us > trace->span(stack.back()).end_us + kSlackUs) {
        trace->warn("spans of a thread that overlap without nesting", 0);
      }
    }
    stack.push_back(SpanId(i));
  }
}

template <typename Map>
SpanId find_id(const Map& map, int64_t key) {
  const auto it = key < 0 ? map.end() : map.find(key);
  return it == map.end() ? SpanId() : it->second;
}

void link_levels(Trace* trace) {
  std::unordered_map<int64_t, SpanId> op_by_external;
  std::unordered_map<int64_t, SpanId> call_by_correlation;
  for (size_t i = 0; i < trace->spans.size(); ++i) {
    const Span& span = trace->spans[i];
    if (span.kind == SpanKind::kOp && span.external >= 0) {
      op_by_external[span.external] = SpanId(i);
    } else if (span.kind == SpanKind::kRuntime && span.correlation >= 0) {
      call_by_correlation[span.correlation] = SpanId(i);
    }
  }
  // Parents come before their children.
  for (Span& span : trace->spans) {
    if (span.parent.valid()) {
      const Span& parent = trace->span(span.parent);
      span.op = parent.kind == SpanKind::kOp ? span.parent : parent.op;
    }
    if (span.kind == SpanKind::kRuntime && !span.op.valid()) {
      span.op = find_id(op_by_external, span.external);
    }
  }
  for (Span& span : trace->spans) {
    if (!is_device_work(span.kind) && span.kind != SpanKind::kSync) {
      continue;
    }
    span.launch = find_id(call_by_correlation, span.correlation);
    // The span's own record of the operator counts, even when that operator was not recorded.
    if (span.external > 0) {
      span.op = find_id(op_by_external, span.external);
    } else if (span.launch.valid()) {
      span.op = trace->span(span.launch).op;
    }
  }
}

// Each name is looked at once.
void mark_communication(Trace* trace) {
  std::unordered_map<NameId, bool> known;
  NameId last;
  bool last_is = false;
  for (Span& span : trace->spans) {
    if (span.name != last) {
      last = span.name;
      const auto [it, is_new] = known.try_emplace(span.name, false);
      if (is_new) {
        it->second = is_communication(trace->text(span.name));
      }
      last_is = it->second;
    }
    span.communication |= last_is;
  }
}

}  // namespace

std::string_view span_kind_name(SpanKind kind) {
  constexpr std::array<std::string_view, kSpanKindCount> kNames = {
      "other", "annotation", "python", "op", "runtime", "kernel", "copy", "memset", "sync"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view copy_direction_name(CopyDirection direction) {
  constexpr std::array<std::string_view, kCopyDirectionCount> kNames = {
      "host-to-device", "device-to-host", "device-to-device", "peer-to-peer", "unknown"};
  return kNames[static_cast<size_t>(direction)];
}

CopyDirection copy_direction(std::string_view name) {
  const std::string lower = to_lower(name);
  const auto has = [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  };
  if (has("htod") || has("h2d") || has("host to device") || has("host_to_device") ||
      has("hosttodevice")) {
    return CopyDirection::kHostToDevice;
  }
  if (has("dtoh") || has("d2h") || has("device to host") || has("device_to_host") ||
      has("devicetohost")) {
    return CopyDirection::kDeviceToHost;
  }
  if (has("ptop") || has("peer")) {
    return CopyDirection::kPeer;
  }
  if (has("dtod") || has("d2d") || has("device to device") || has("device_to_device") ||
      has("devicetodevice")) {
    return CopyDirection::kDeviceToDevice;
  }
  return CopyDirection::kUnknown;
}

bool is_communication(std::string_view kernel) {
  return to_lower(kernel).find("nccl") != std::string::npos;
}

NameId Trace::intern(std::string_view text) {
  const auto it = ids_.find(text);
  if (it != ids_.end()) {
    return it->second;
  }
  const NameId id(texts_.size());
  texts_.emplace_back(text);
  ids_.emplace(texts_.back(), id);
  return id;
}

const std::string& Trace::text(NameId name) const {
  static const std::string kNothing;
  return name.valid() ? texts_[name.index()] : kNothing;
}

TrackId Trace::track_of(std::string_view process, std::string_view thread) {
  const uint64_t key = (uint64_t{intern(process).value()} << 32) | intern(thread).value();
  const auto [it, is_new] = track_ids_.try_emplace(key, TrackId(tracks.size()));
  if (is_new) {
    Track track;
    track.process = process;
    track.name = thread;
    tracks.push_back(std::move(track));
  }
  return it->second;
}

void Trace::warn(std::string_view text, int64_t event, int64_t count) {
  for (TraceWarning& warning : warnings) {
    if (warning.text == text) {
      warning.count += count;
      return;
    }
  }
  warnings.push_back({std::string(text), count, event});
}

void Trace::warn_of_file(std::string_view text, int64_t event) {
  warn(text, event);
  warnings.back().of_file = true;
}

void finish_trace(Trace* trace) {
  sort_spans(trace);
  mark_communication(trace);
  nest_spans(trace);
  link_levels(trace);
  const auto by_time = [](const auto& a, const auto& b) { return a.time_us < b.time_us; };
  std::stable_sort(trace->memory.begin(), trace->memory.end(), by_time);
  std::stable_sort(trace->counters.begin(), trace->counters.end(), by_time);
  std::stable_sort(trace->flows.begin(), trace->flows.end(), by_time);
  std::stable_sort(trace->allocators.begin(), trace->allocators.end(), by_time);
  std::ranges::stable_sort(trace->transfers, {}, &Transfer::arrived_us);
}

}  // namespace dfsim::inline datasets
