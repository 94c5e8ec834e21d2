// Perfetto's track events: those that dfsim predict writes, and those of other programs.
//
// What our own traces say of an op stands in debug annotations, as the args of a Chrome trace do;
// so the events are handed to the same dialects.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "datasets/traces/chrome/chrome_dialect.h"
#include "datasets/traces/perfetto_stream.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

class PerfettoReader {
 public:
  PerfettoReader(const std::string& path, std::string_view content)
      : stream_(content), own_(make_dfsim_dialect()), plain_(make_plain_dialect()) {
    trace_.path = path;
    trace_.format = "perfetto";
  }

  StatusOr<Trace> read() {
    PerfettoEvent event;
    for (auto next = stream_.next(&event); next != PerfettoStream::Next::kEnd;
         next = stream_.next(&event)) {
      ++trace_.events;
      if (next == PerfettoStream::Next::kEvent && std::abs(event.time_us) < kMaxUs) {
        add(event);
      } else {
        trace_.warn(next == PerfettoStream::Next::kBadPacket
                        ? "packets that cannot be read, left out"
                        : "events without a usable time, left out",
                    trace_.events);
      }
    }
    if (stream_.cut_off()) {
      trace_.warn_of_file("the file is cut off: it ends inside a packet", trace_.events);
    }
    close_all();
    name_tracks();
    if (ours_) {
      own_->finish(&trace_);
    }
    if (trace_.spans.empty()) {
      return nothing_usable(trace_, "events");
    }
    finish_trace(&trace_);
    return std::move(trace_);
  }

 private:
  static constexpr double kMaxUs = 1e17;

  TrackId track_of(uint64_t uuid) {
    const TrackId id = trace_.track_of("", fmt::format("{}", uuid));
    uuids_.try_emplace(id, uuid);
    return id;
  }

  void add(const PerfettoEvent& event) {
    const TrackId track = track_of(event.track);
    for (const uint64_t flow : event.flows) {
      add_flow(event, track, flow, !flowing_[flow]);
      flowing_[flow] = true;
    }
    for (const uint64_t flow : event.end_flows) {
      add_flow(event, track, flow, false);
      flowing_[flow] = false;
    }
    switch (event.type) {
      case PerfettoEvent::kBegin:
        stacks_[track].push_back(describe(event, track));
        break;
      case PerfettoEvent::kEnd:
        end_span(event, track);
        break;
      case PerfettoEvent::kCount:
        add_counter(event, track);
        break;
      default:
        break;  // instants
    }
  }

  void add_flow(const PerfettoEvent& event, TrackId track, uint64_t flow, bool start) {
    trace_.flows.push_back(
        {event.time_us, trace_.intern(fmt::format("data {}", flow)), track, start});
  }

  Span describe(const PerfettoEvent& event, TrackId track) {
    Span span;
    span.start_us = event.time_us;
    span.track = track;
    span.name = trace_.intern(printable(event.name, 1000));
    ChromeEvent chrome;
    chrome.index = trace_.events;
    chrome.phase = "B";
    chrome.category = event.category;
    chrome.name = event.name;
    chrome.start_us = event.time_us;
    ChromeEvent::Args args;
    for (const auto& [name, value] : event.annotations) {
      args.emplace_back(name, value);
    }
    chrome.set_args(std::move(args));
    // Ops of ours say "bound, source" in one, and dispatches and transfers nothing of their own.
    const bool ours = !chrome.arg("cost").empty() || own_->claims(chrome) ||
                      event.category == "transfer" || event.category == "dispatch";
    ours_ |= ours;
    (ours ? own_ : plain_)->describe(chrome, &trace_, &span);
    return span;
  }

  void end_span(const PerfettoEvent& event, TrackId track) {
    std::vector<Span>& stack = stacks_[track];
    if (stack.empty()) {
      trace_.warn("ends of spans that never began, left out", trace_.events);
      return;
    }
    Span span = stack.back();
    stack.pop_back();
    span.end_us = event.time_us;
    if (span.end_us < span.start_us) {
      trace_.warn("spans with a negative duration, left out", trace_.events);
      return;
    }
    last_us_ = std::max(last_us_, span.end_us);
    trace_.spans.push_back(span);
  }

  void close_all() {
    for (auto& [track, stack] : stacks_) {
      for (Span& span : stack) {
        trace_.warn("spans that never end, taken to last until the trace's end", 0);
        span.end_us = std::max(last_us_, span.start_us);
        trace_.spans.push_back(span);
      }
    }
  }

  void add_counter(const PerfettoEvent& event, TrackId track) {
    const auto info = stream_.tracks().find(event.track);
    const std::string name = info == stream_.tracks().end() ? "counter" : info->second.name;
    trace_.counters.push_back({event.time_us, track, trace_.intern(name), event.counter});
    const std::string process =
        info == stream_.tracks().end() ? "" : process_of(info->second.parent);
    if (name == "memory" && !process.empty()) {
      MemoryRecord record;
      record.time_us = event.time_us;
      record.device = device_number(info->second.parent);
      record.allocated = std::abs(event.counter) < 1e18 ? static_cast<Bytes>(event.counter) : -1;
      record.track = track;
      trace_.memory.push_back(record);
    }
  }

  std::string process_of(uint64_t uuid) const {
    const auto it = stream_.tracks().find(uuid);
    return it == stream_.tracks().end() ? ""
           : it->second.process.empty() ? it->second.name
                                        : it->second.process;
  }

  // Processes are numbered as they come: of our traces these are the devices.
  int64_t device_number(uint64_t process) {
    return devices_.try_emplace(process, static_cast<int64_t>(devices_.size())).first->second;
  }

  void name_tracks() {
    for (const auto& [id, uuid] : uuids_) {
      Track& track = trace_.tracks[id.index()];
      const auto info = stream_.tracks().find(uuid);
      if (info == stream_.tracks().end()) {
        track.process = "track";
        continue;
      }
      const PerfettoTrack& found = info->second;
      track.name = found.name.empty() ? found.thread : found.name;
      track.process = found.process.empty() ? process_of(found.parent) : found.process;
      if (track.kind == TrackKind::kDevice) {
        track.device = device_number(found.parent);
      }
    }
  }

  PerfettoStream stream_;
  Trace trace_;
  std::unique_ptr<ChromeDialect> own_;
  std::unique_ptr<ChromeDialect> plain_;
  bool ours_ = false;
  std::map<TrackId, uint64_t> uuids_;
  std::map<TrackId, std::vector<Span>> stacks_;
  std::map<uint64_t, int64_t> devices_;
  std::unordered_map<uint64_t, bool> flowing_;
  double last_us_ = 0;
};

Sniff sniff_perfetto(const TraceInput& input) {
  const bool found =
      input.kind() == TraceInput::Kind::kBinary && is_perfetto_trace(input.content());
  return found ? Sniff::kYes : Sniff::kNo;
}

StatusOr<Trace> read_perfetto(TraceInput input) {
  return PerfettoReader(input.path(), input.content()).read();
}

}  // namespace

TraceReader perfetto_trace_reader() {
  return {.name = "perfetto",
          .description = "Perfetto track events; dfsim predict --trace x.pftrace",
          .sniff = sniff_perfetto,
          .read = read_perfetto};
}

}  // namespace dfsim::inline datasets
