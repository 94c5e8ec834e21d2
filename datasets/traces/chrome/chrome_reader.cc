// The frame of all dialects of the Trace Event Format: which one a file is in, pairs of begin and
// end, names, counters and arrows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "datasets/traces/chrome/chrome_dialect.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

// Events that are kept back until one tells the dialect.
constexpr size_t kMaxUndecided = 20'000;

// One half of a span, kept until all events are there: files need not be in order of time.
struct Half {
  double time_us = 0;
  size_t order = 0;
  bool begin = false;
  Span span;  // of a begin: as described; of an end: its name and track
};

class ChromeReader {
 public:
  ChromeReader(std::string path, JsonStream stream)
      : stream_(std::move(stream)), path_(std::move(path)) {
    trace_.path = path_;
    for (const TraceReader& format : trace_readers()) {
      if (format.dialect != nullptr) {
        dialects_.push_back(format.dialect());
      }
    }
    plain_ = make_plain_dialect();
  }

  StatusOr<Trace> read() {
    while (true) {
      DFSIM_ASSIGN_OR_RETURN(const JsonItem item, stream_.next());
      if (item.kind == JsonItem::Kind::kEnd) {
        break;
      }
      if (item.kind == JsonItem::Kind::kField || item.kind == JsonItem::Kind::kElement) {
        take(item);
      }
    }
    decide(plain_.get());
    match_halves(&halves_, "spans");
    match_halves(&async_halves_, "asynchronous spans");
    apply_names();
    dialect_->finish(&trace_);
    trace_.events = index_;
    warn_of_repairs(stream_, &trace_);
    trace_.format = dialect_->name();
    if (trace_.spans.empty() && trace_.memory.empty()) {
      return nothing_found();
    }
    finish_trace(&trace_);
    return std::move(trace_);
  }

 private:
  void take(const JsonItem& item) {
    if (dialect_ == nullptr) {
      kept_.emplace_back(item.kind == JsonItem::Kind::kField, std::string(item.key),
                         padded(item.json));
      if (item.kind == JsonItem::Kind::kField) {
        decide_by([&item](const ChromeDialect& d) { return d.claims_field(item.key); });
      } else if (parser_.parse(item.json, &event_)) {
        decide_by([this](const ChromeDialect& d) { return d.claims(event_); });
      }
      if (dialect_ == nullptr && kept_.size() >= kMaxUndecided) {
        decide(plain_.get());
      }
      return;
    }
    process(item.kind == JsonItem::Kind::kField, item.key, item.json);
  }

  template <typename Claims>
  void decide_by(const Claims& claims) {
    for (const auto& dialect : dialects_) {
      if (dialect_ == nullptr && claims(*dialect)) {
        decide(dialect.get());
      }
    }
  }

  // From here on events are read as they come; first those that were kept.
  void decide(const ChromeDialect* dialect) {
    if (dialect_ != nullptr) {
      return;
    }
    dialect_ = dialect;
    for (const auto& [field, key, json] : kept_) {
      process(field, key, std::string_view(json).substr(0, json.size() - kJsonPaddingBytes));
    }
    kept_.clear();
    kept_.shrink_to_fit();
  }

  static std::string padded(std::string_view json) {
    std::string text;
    text.reserve(json.size() + kJsonPaddingBytes);
    text += json;
    text.append(kJsonPaddingBytes, ' ');
    return text;
  }

  void process(bool field, std::string_view key, std::string_view json) {
    if (field) {
      dialect_->read_field(key, json, &trace_);
      return;
    }
    ++index_;
    event_.index = index_;
    if (!parser_.parse(json, &event_)) {
      trace_.warn("events that are not JSON, left out", index_);
      return;
    }
    event_.index = index_;
    read_event();
  }

  void read_event() {
    if (event_.phase.size() != 1) {
      trace_.warn("events without a phase, left out", index_);
      return;
    }
    const char phase = event_.phase[0];
    switch (phase) {
      case 'X':
        read_complete();
        break;
      case 'B':
      case 'E':
      case 'b':
      case 'e':
        read_half(phase == 'B' || phase == 'b', phase == 'b' || phase == 'e');
        break;
      case 'M':
        read_name();
        break;
      case 'C':
        if (!dialect_->read_other(event_, &trace_)) {
          read_counter();
        }
        break;
      case 's':
      case 't':
      case 'f':
        read_flow(phase == 's');
        break;
      default:
        dialect_->read_other(event_, &trace_);
    }
  }

  // The track of the event; the last one is remembered, as neighbours mostly share it.
  TrackId track() {
    if (!last_track_.valid() || event_.process != last_process_ || event_.thread != last_thread_) {
      last_process_ = event_.process;
      last_thread_ = event_.thread;
      last_track_ = trace_.track_of(last_process_, last_thread_);
    }
    return last_track_;
  }

  void read_complete() {
    if (!event_.has_start()) {
      trace_.warn("spans without a start, left out", index_);
      return;
    }
    if (!event_.has_duration()) {
      trace_.warn("spans without a duration, left out", index_);
      return;
    }
    if (event_.duration_us < 0) {
      trace_.warn("spans with a negative duration, left out", index_);
      return;
    }
    Span span;
    span.start_us = event_.start_us;
    span.end_us = event_.start_us + event_.duration_us;
    span.name = trace_.intern(event_.name);
    span.track = track();
    if (dialect_->describe(event_, &trace_, &span)) {
      trace_.spans.push_back(span);
    }
  }

  void read_half(bool begin, bool async) {
    if (!event_.has_start()) {
      trace_.warn("begins and ends without a time, left out", index_);
      return;
    }
    Half half;
    half.time_us = event_.start_us;
    half.begin = begin;
    half.span.start_us = event_.start_us;
    half.span.name = trace_.intern(event_.name);
    if (async) {
      half.span.track = trace_.track_of(
          event_.process, fmt::format("{} {}", event_.category, printable(event_.id)));
    } else {
      half.span.track = track();
    }
    if (begin && !dialect_->describe(event_, &trace_, &half.span)) {
      return;
    }
    std::vector<Half>& halves = async ? async_halves_ : halves_;
    half.order = halves.size();
    halves.push_back(half);
  }

  // Ends belong to the innermost open begin of their name; what lies open inside ends with it.
  void match_halves(std::vector<Half>* halves, std::string_view what) {
    std::sort(halves->begin(), halves->end(), [](const Half& a, const Half& b) {
      return a.time_us != b.time_us ? a.time_us < b.time_us : a.order < b.order;
    });
    std::map<TrackId, std::vector<Span>> open;
    std::map<std::pair<TrackId, NameId>, int64_t> named_open;
    double last_us = 0;
    for (const Half& half : *halves) {
      last_us = half.time_us;
      std::vector<Span>& stack = open[half.span.track];
      if (half.begin) {
        stack.push_back(half.span);
        ++named_open[{half.span.track, half.span.name}];
        continue;
      }
      size_t at = stack.size();
      const bool named = !trace_.text(half.span.name).empty();
      if (named && named_open[{half.span.track, half.span.name}] == 0) {
        at = 0;
      }
      while (at > 0 && named && stack[at - 1].name != half.span.name) {
        --at;
      }
      if (at == 0) {
        trace_.warn(fmt::format("ends of {} that never began, left out", what), 0);
        continue;
      }
      if (at < stack.size()) {
        trace_.warn(fmt::format("{} that were not ended before the one around them", what), 0,
                    static_cast<int64_t>(stack.size() - at));
      }
      for (size_t i = at - 1; i < stack.size(); ++i) {
        --named_open[{half.span.track, stack[i].name}];
      }
      close(&stack, at - 1, half.time_us);
    }
    for (auto& [track, stack] : open) {
      if (!stack.empty()) {
        trace_.warn(fmt::format("{} that never end, taken to last until the trace's end", what), 0,
                    static_cast<int64_t>(stack.size()));
        close(&stack, 0, last_us);
      }
    }
  }

  // Ends the open spans from position `first` on.
  void close(std::vector<Span>* stack, size_t first, double end_us) {
    while (stack->size() > first) {
      Span span = stack->back();
      stack->pop_back();
      span.end_us = end_us;
      trace_.spans.push_back(span);
    }
  }

  void read_name() {
    const bool process = event_.name == "process_name";
    if (!process && event_.name != "thread_name") {
      return;
    }
    const std::string name(event_.text_arg("name"));
    if (process) {
      process_names_[std::string(event_.process)] = name;
    } else {
      thread_names_[{std::string(event_.process), std::string(event_.thread)}] = name;
    }
  }

  void apply_names() {
    for (Track& track : trace_.tracks) {
      const auto thread = thread_names_.find({track.process, track.name});
      if (thread != thread_names_.end() && !thread->second.empty()) {
        track.name = thread->second;
      }
      const auto process = process_names_.find(track.process);
      if (process != process_names_.end() && !process->second.empty()) {
        track.process = process->second;
      }
    }
  }

  void read_counter() {
    if (!event_.has_start()) {
      return;
    }
    for (const auto& [key, value] : event_.args()) {
      const double number = event_.number_arg(key, ChromeEvent::kMissing);
      if (!std::isnan(number)) {
        trace_.counters.push_back({event_.start_us, track(),
                                   trace_.intern(fmt::format("{}.{}", event_.name, key)), number});
      }
    }
  }

  void read_flow(bool start) {
    if (event_.has_start()) {
      trace_.flows.push_back({event_.start_us,
                              trace_.intern(fmt::format("{} {}", event_.category, event_.id)),
                              track(), start});
    }
  }

  Status nothing_found() const {
    if (index_ == 0) {
      return invalid_input(fmt::format(
          "{}: JSON without trace events; expected a profiler's trace (see dfsim analyze --help)",
          path_));
    }
    return nothing_usable(trace_, "events");
  }

  JsonStream stream_;
  std::string path_;
  Trace trace_;
  ChromeEventParser parser_;
  ChromeEvent event_;
  int64_t index_ = 0;
  std::vector<std::unique_ptr<ChromeDialect>> dialects_;
  std::unique_ptr<ChromeDialect> plain_;
  const ChromeDialect* dialect_ = nullptr;
  std::vector<std::tuple<bool, std::string, std::string>> kept_;
  std::vector<Half> halves_;
  std::vector<Half> async_halves_;
  std::map<std::string, std::string, std::less<>> process_names_;
  std::map<std::pair<std::string, std::string>, std::string> thread_names_;
  std::string last_process_;
  std::string last_thread_;
  TrackId last_track_;
};

// Any JSON may hold events. The reader also reports of other text that it is no JSON.
Sniff sniff_chrome(const TraceInput& input) {
  const bool text =
      input.kind() == TraceInput::Kind::kJson || input.kind() == TraceInput::Kind::kText;
  return text ? Sniff::kMaybe : Sniff::kNo;
}

StatusOr<Trace> read_chrome(TraceInput input) {
  DFSIM_ASSIGN_OR_RETURN(JsonStream stream, input.json(kTraceEventList));
  return ChromeReader(input.path(), std::move(stream)).read();
}

}  // namespace

TraceReader chrome_trace_reader() {
  return {.name = "chrome",
          .description = "Trace Event Format of any other program",
          .sniff = sniff_chrome,
          .read = read_chrome};
}

}  // namespace dfsim::inline datasets
