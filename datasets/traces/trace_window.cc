// Cuts a finished trace: spans get new numbers in the same order, so that the invariants of
// finish_trace() still hold.
#include "datasets/traces/trace_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/text.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

// The new numbers of spans; none for those that are dropped.
class NewIds {
 public:
  NewIds(const TraceWindow& window, double first_us, const std::vector<Span>& spans)
      : ids_(spans.size()) {
    size_t next = 0;
    for (size_t i = 0; i < spans.size(); ++i) {
      if (window.holds(spans[i].start_us - first_us)) {
        ids_[i] = SpanId(next++);
      }
    }
    kept_ = next;
  }

  size_t kept() const { return kept_; }
  SpanId of(SpanId old) const { return old.valid() ? ids_[old.index()] : SpanId(); }
  SpanId at(size_t old) const { return ids_[old]; }

 private:
  std::vector<SpanId> ids_;
  size_t kept_ = 0;
};

void cut_spans(const NewIds& ids, std::vector<Span>* spans) {
  for (size_t i = 0; i < spans->size(); ++i) {
    const SpanId id = ids.at(i);
    if (id.valid()) {
      Span& span = (*spans)[id.index()] = (*spans)[i];  // never a later place than its own
      span.parent = ids.of(span.parent);
      span.launch = ids.of(span.launch);
      span.op = ids.of(span.op);
    }
  }
  spans->resize(ids.kept());
}

// Items of a span, whose number changes.
template <typename Item>
void cut_items(const NewIds& ids, std::vector<Item>* items) {
  std::erase_if(*items, [&ids](const Item& item) { return !ids.of(item.span).valid(); });
  for (Item& item : *items) {
    item.span = ids.of(item.span);
  }
}

constexpr double kUsPerS = 1e6;

// Microseconds; nothing for other text.
std::optional<double> time_of(std::string_view text, double otherwise) {
  text = trim(text);
  if (text.empty()) {
    return otherwise;
  }
  const auto seconds = parse_number<double>(text);
  const bool fits = seconds && std::isfinite(*seconds) && *seconds >= 0;
  return fits ? std::optional(*seconds * kUsPerS) : std::nullopt;
}

}  // namespace

StatusOr<TraceWindow> parse_window(std::string_view text) {
  TraceWindow window;
  if (text.empty()) {
    return window;
  }
  const size_t comma = text.find(',');
  const auto from = time_of(text.substr(0, comma), window.from_us);
  const auto to = comma == text.npos ? std::nullopt : time_of(text.substr(comma + 1), window.to_us);
  if (!from || !to || *from >= *to) {
    return invalid_input(
        fmt::format("--window: found '{}', expected FROM,TO in seconds with FROM below TO, such as "
                    "10,20; '10,' "
                    "goes on to the end",
                    printable(text)));
  }
  window.from_us = *from;
  window.to_us = *to;
  return window;
}

Status cut_trace(const TraceWindow& window, Trace* trace) {
  if (window.whole() || trace->spans.empty()) {
    return ok_status();
  }
  const double first_us = trace->spans.front().start_us;
  const double last_us = trace->spans.back().start_us;
  const NewIds ids(window, first_us, trace->spans);
  if (ids.kept() == 0) {
    return invalid_input(fmt::format(
        "{}: no span begins in the window; the first begins at 0 s, the last at {:.6g} s",
        trace->path, (last_us - first_us) / kUsPerS));
  }
  cut_spans(ids, &trace->spans);
  cut_items(ids, &trace->syncs);
  cut_items(ids, &trace->transfers);
  cut_items(ids, &trace->span_counters);
  const auto is_outside = [&](double time_us) { return !window.holds(time_us - first_us); };
  const auto by_time = [&](const auto& item) { return is_outside(item.time_us); };
  std::erase_if(trace->memory, by_time);
  std::erase_if(trace->counters, by_time);
  std::erase_if(trace->flows, by_time);
  std::erase_if(trace->faults, by_time);
  std::erase_if(trace->allocators, by_time);
  std::erase_if(trace->pauses,
                [&](const ThreadPause& pause) { return is_outside(pause.start_us); });
  return ok_status();
}

}  // namespace dfsim::inline datasets
