// A stack of open spans per track. Device work has tracks of its own, because threads that write
// its events have nothing to do with where it ran.
#include "datasets/traces/ctf/ctf_spans.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

constexpr size_t kMostNameLength = 1000;
constexpr int64_t kNoQueue = INT64_MIN;  // the tracer says nothing of queues

int64_t correlation_of(const CtfEvent& event) { return event.integer(CtfRole::kCorrelation); }

}  // namespace

void CtfSpans::set_prefix(std::string prefix) {
  prefix_ = std::move(prefix);
  threads_.clear();
  async_threads_.clear();
}

TrackId CtfSpans::host_track(const CtfEvent& event, int64_t thread, bool async) {
  const std::string_view part = async ? " async" : "";
  if (thread < 0) {
    return trace_.track_of(prefix_ + "host",
                           fmt::format("CPU {}{}", event.integer(CtfRole::kCpu, 0), part));
  }
  const auto [known, is_new] = (async ? async_threads_ : threads_).try_emplace(thread);
  if (is_new) {
    known->second = trace_.track_of(prefix_ + "host", fmt::format("{}{}", thread, part));
    trace_.tracks[known->second.index()].thread = thread;
  }
  return known->second;
}

TrackId CtfSpans::track_of(const CtfEvent& event, const CtfPoint& point, int64_t thread) {
  if (is_device_work(point.kind) || point.kind == SpanKind::kSync) {
    const int64_t device = event.integer(CtfRole::kDevice, 0);
    const CtfField* const queue = event.find(CtfRole::kQueue);
    const bool numbered = queue == nullptr || queue->kind != CtfField::Kind::kText;
    const QueueKey key{device, queue == nullptr ? kNoQueue : queue->integer,
                       point.kind == SpanKind::kSync};
    if (const auto known = queues_.find(key); numbered && known != queues_.end()) {
      return known->second;
    }
    const std::string name = queue == nullptr ? "0"
                             : queue->kind == CtfField::Kind::kText
                                 ? printable(queue->text)
                                 : fmt::format("{}", queue->integer);
    const TrackId id = trace_.track_of(fmt::format("device {}", device),
                                       point.kind == SpanKind::kSync ? name + " barriers" : name);
    trace_.tracks[id.index()].kind = TrackKind::kDevice;
    trace_.tracks[id.index()].device = device;
    if (numbered) {
      queues_.emplace(key, id);
    }
    return id;
  }
  // Asynchronous operations overlap on the thread that starts them.
  return host_track(event, thread, point.base.starts_with("async_"));
}

NameId CtfSpans::given_name(const CtfEvent& event, const CtfPoint& point) {
  if (point.kind == SpanKind::kRuntime) {
    const CtfField* field = event.find(CtfRole::kName);
    field = field == nullptr ? event.find({"is_ready"}) : field;  // cuptiTracer's first form
    if (field == nullptr) {
      return NameId();
    }
    const bool driver = point.base.find("driver") != std::string::npos;
    std::string text = field->kind == CtfField::Kind::kInteger
                           ? fmt::format("{}", field->integer)
                           : std::string(field->text.substr(0, kMostNameLength));
    if (text.empty()) {
      return NameId();
    }
    text += driver ? "d" : "r";  // a number means another call in the driver
    const auto [known, is_new] = calls_.try_emplace(text);
    if (is_new) {
      text.pop_back();
      known->second = trace_.intern(call_name(printable(text, kMostNameLength), driver));
    }
    return known->second;
  }
  const NameId name = names_.name_of(event.find(CtfRole::kName), &trace_);
  return name.valid() ? name : names_.name_of(event.find(CtfRole::kObject), &trace_);
}

void CtfSpans::begin(const CtfEvent& event, const CtfPoint& point, int64_t thread, double time_us) {
  Open open;
  Span& span = open.span;
  span.kind = point.kind;
  span.start_us = time_us;
  span.track = track_of(event, point, thread);
  open.base = point.base_id;
  open.given = given_name(event, point);
  open.stream_copy = point.stream_copy;
  span.name = open.given.valid() ? open.given : open.base;
  if (span.kind == SpanKind::kOp) {
    const std::string_view type = event.text(CtfRole::kType);
    if (!type.empty()) {
      span.detail = span.name;
      span.name = trace_.intern(printable(type, kMostNameLength));
    }
    const std::string_view placement = event.text(CtfRole::kPlacement);
    if (!placement.empty()) {
      span.placement = intern_printable(placement, 300, &trace_);
      const auto [worker, is_new] = workers_.try_emplace(span.placement);
      worker->second = is_new ? worker_of(placement) : worker->second;
      if (!worker->second.empty()) {
        trace_.tracks[span.track.index()].process = prefix_ + worker->second;
      }
    }
  } else if (span.kind == SpanKind::kCopy || open.stream_copy) {
    span.name = trace_.intern(copy_title(event, point.base));
    span.bytes = point_bytes(event);
  } else if (span.kind == SpanKind::kMemset || point.base == "unpinned_memory_engine_copy") {
    span.bytes = point_bytes(event);
  }
  span.correlation = correlation_of(event);
  if (span.correlation < 0 && span.kind == SpanKind::kRuntime) {
    span.correlation = launches_.call(trace_, span.name, innermost_op(span.track), time_us);
  }
  if (span.correlation < 0 && is_device_work(span.kind)) {
    // The operator that the work names is kept until the span is complete.
    const NameId named = names_.name_of(event.find(CtfRole::kOperator), &trace_);
    span.detail = named.valid() ? named : open.given;
  }
  open.counts = counters_.counts_of(event, &trace_);
  open_[span.track].push_back(std::move(open));
}

NameId CtfSpans::innermost_op(TrackId track) const {
  const auto stack = open_.find(track);
  if (stack == open_.end()) {
    return NameId();
  }
  const auto op = std::find_if(stack->second.rbegin(), stack->second.rend(),
                               [](const Open& open) { return open.span.kind == SpanKind::kOp; });
  return op == stack->second.rend() ? NameId() : op->given;
}

void CtfSpans::queued(const CtfEvent& event, int64_t thread, double time_us) {
  names_.learn(event);
  const TrackId track = host_track(event, thread);
  Span span;
  span.kind = SpanKind::kRuntime;
  span.start_us = span.end_us = time_us;
  span.track = track;
  span.name = trace_.intern(event.name().substr(event.name().find(':') + 1));
  span.correlation = launches_.queued(innermost_op(track), time_us);
  trace_.spans.push_back(span);
}

std::vector<CtfSpans::Open>::iterator CtfSpans::find_begin(std::vector<Open>* stack, NameId base,
                                                           NameId given, int64_t correlation,
                                                           bool device) {
  const auto may_end = [&](const Open& open) {
    return open.base == base &&
           (correlation < 0 || open.span.correlation < 0 || open.span.correlation == correlation);
  };
  const auto fits = [&](const Open& open) {
    return may_end(open) && (!given.valid() || correlation >= 0 || open.given == given);
  };
  if (const auto inner = std::find_if(stack->rbegin(), stack->rend(), fits);
      inner != stack->rend()) {
    return std::prev(inner.base());
  }
  return device ? std::ranges::find_if(*stack, may_end) : stack->end();
}

void CtfSpans::end(const CtfEvent& event, const CtfPoint& point, int64_t thread, double time_us) {
  std::vector<Open>& stack = open_[track_of(event, point, thread)];
  const NameId given = given_name(event, point);
  const bool device =
      is_device_work(point.kind) || point.kind == SpanKind::kSync || point.stream_copy;
  const auto found = find_begin(&stack, point.base_id, given, correlation_of(event), device);
  if (found == stack.end()) {
    if (!foreign_ends_) {
      trace_.warn("ends of spans that never began, left out", trace_.events);
    }
    return;
  }
  const Open open = std::move(*found);
  stack.erase(found);
  Span span = open.span;
  span.end_us = time_us;
  if (span.end_us < span.start_us) {
    trace_.warn("spans with a negative duration, left out", trace_.events);
    return;
  }
  const size_t id = trace_.spans.size();
  if (open.stream_copy) {
    stream_copies_.push_back(id);
  }
  if (span.correlation < 0 && is_device_work(span.kind)) {
    launches_.work(span.kind, span.detail, span.start_us, id);
    span.detail = NameId();
  }
  trace_.spans.push_back(span);
  if (!open.counts.empty()) {
    CounterEvents::add(open.counts, counters_.counts_of(event, &trace_), id, &trace_);
  }
}

void CtfSpans::close_open(double last_us, bool cut) {
  std::vector<TrackId> tracks;
  for (const auto& [track, stack] : open_) {
    tracks.push_back(track);
  }
  std::ranges::sort(tracks);  // the same order in every build
  for (const TrackId track : tracks) {
    for (Open& open : open_[track]) {
      if (!cut) {
        trace_.warn("spans that never end, taken to last until the trace's end", 0);
      }
      open.span.end_us = std::max(last_us, open.span.start_us);
      if (open.span.correlation < 0 && is_device_work(open.span.kind)) {
        launches_.work(open.span.kind, open.span.detail, open.span.start_us, trace_.spans.size());
        open.span.detail = NameId();
      }
      trace_.spans.push_back(open.span);
    }
  }
  open_.clear();
}

void CtfSpans::finish() {
  names_.finish(&trace_);
  launches_.join(&trace_);
  counters_.finish(&trace_);
  const bool copies = std::ranges::any_of(
      trace_.spans, [](const Span& span) { return span.kind == SpanKind::kCopy; });
  if (copies) {
    return;
  }
  // Only the stream executor tells of copies: its calls are the copies.
  for (const size_t i : stream_copies_) {
    Span& span = trace_.spans[i];
    span.kind = SpanKind::kCopy;
    span.correlation = -1;
    span.track = trace_.track_of("device 0", "stream");
    trace_.tracks[span.track.index()].kind = TrackKind::kDevice;
    trace_.tracks[span.track.index()].device = 0;
  }
}

}  // namespace dfsim::inline datasets
