// Traces in the Common Trace Format: LTTng's of the kernel and of user space, and the tracepoints
// of the GPU-dataflow tracing method (Zins and Dagenais, 2019), which ctf_points.h names.
//
// The reader looks at each class of events once (CtfPoint) and hands its events to the part that
// they concern: spans, threads, memory, transfers, counters. A folder may hold several traces
// (kernel/, ust/): each has its own clock.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "datasets/traces/ctf/ctf_events.h"
#include "datasets/traces/ctf/ctf_memory.h"
#include "datasets/traces/ctf/ctf_points.h"
#include "datasets/traces/ctf/ctf_spans.h"
#include "datasets/traces/ctf/ctf_threads.h"
#include "datasets/traces/ctf/ctf_transfers.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 6;
constexpr double kNsPerUsF = 1000;
constexpr int64_t kMaxNs = int64_t{1} << 62;
// A payload's time so far from the header's has another unit or another zero.
constexpr int64_t kSameClockNs = int64_t{3600} * 1000000000;

// The time in an event's payload, in nanoseconds of the header's clock. GPUs' profilers write
// microseconds in some tracers, and some leave out the offset that the trace's clock adds; the
// reading nearest to the header's time is right, and the plain one where it fits.
int64_t payload_time(int64_t own, int64_t header_ns, int64_t offset_ns) {
  const auto distance = [header_ns](int64_t candidate) {
    return std::abs(static_cast<double>(candidate) - static_cast<double>(header_ns));
  };
  if (distance(own) <= kSameClockNs) {
    return own;
  }
  int64_t best = own;
  int64_t scaled = 0;
  const bool scales = !__builtin_mul_overflow(own, 1000, &scaled) && scaled < kMaxNs;
  for (const int64_t unit : {own, scales ? scaled : own}) {
    for (const int64_t zero : {int64_t{0}, offset_ns}) {
      int64_t candidate = 0;
      if (!__builtin_add_overflow(unit, zero, &candidate) && candidate < kMaxNs &&
          distance(candidate) < distance(best)) {
        best = candidate;
      }
    }
  }
  return distance(best) <= kSameClockNs ? best : own;
}

class CtfReader {
 public:
  CtfReader(const std::string& path, const TraceWindow& window) : window_(window), spans_(&trace_) {
    trace_.path = path;
    trace_.format = "ctf";
    if (!window.whole()) {
      spans_.expect_foreign_ends();
    }
  }

  StatusOr<Trace> read(const std::vector<std::string>& folders) {
    std::string first_error;
    std::optional<bool> wall_clock;
    for (size_t i = 0; i < folders.size(); ++i) {
      const std::string& folder = folders[i];
      // Each part has its share of the room: the kernel's spans alone may be too many.
      const size_t room = window_.most_spans - std::min(window_.most_spans, trace_.spans.size());
      limit_ = trace_.spans.size() + room / (folders.size() - i);
      full_ = false;
      prefix_ = folders.size() > 1 ? fs::path(folder).filename().string() + " " : "";
      spans_.set_prefix(prefix_);
      points_.clear();  // shapes live as long as the reading of one folder
      last_point_ = nullptr;
      const auto summary =
          read_ctf_events(folder, [this](const CtfEvent& event) { return take(event); });
      spans_.close_open(last_us_, full_);
      running_.clear();
      if (!summary.ok()) {
        first_error = first_error.empty() ? summary.status().message() : first_error;
        trace_.warn_of_file(fmt::format("the trace in {} is left out: {}", folder,
                                        printable(summary.status().message(), 200)));
        continue;
      }
      note(*summary, &wall_clock);
    }
    transfers_.finish(&trace_);
    spans_.finish();
    promote_host_spans();
    if (trace_.spans.empty() && trace_.events == 0) {
      return invalid_input(fmt::format(
          "{}: {}", trace_.path, first_error.empty() ? "a CTF trace without events" : first_error));
    }
    if (trace_.spans.empty() && !window_.whole()) {
      return invalid_input(
          fmt::format("{}: no span begins in the window; the events that were read end {:.6g} s "
                      "after the first",
                      trace_.path, first_us_ ? (last_us_ - *first_us_) / 1e6 : 0));
    }
    if (trace_.spans.empty()) {
      return nothing_usable(trace_, "events");
    }
    finish_trace(&trace_);
    return std::move(trace_);
  }

 private:
  void note(const CtfSummary& summary, std::optional<bool>* wall_clock) {
    if (summary.discarded > 0) {
      trace_.warn("events that the tracer had to discard", 0, summary.discarded);
    }
    if (!summary.damage.empty()) {
      trace_.warn_of_file("the trace is damaged: " + printable(summary.damage, 200));
    }
    if (wall_clock->has_value() && **wall_clock != summary.wall_clock) {
      trace_.warn_of_file("its parts have different clocks: times between them mean nothing");
    }
    *wall_clock = summary.wall_clock;
  }

  // Events of a class follow each other often.
  const CtfPoint& point(const CtfShape* shape) {
    if (shape != last_shape_ || last_point_ == nullptr) {
      const auto [known, is_new] = points_.try_emplace(shape);
      if (is_new) {
        known->second = point_of(*shape);
        known->second.base_id = trace_.intern(known->second.base);
      }
      last_shape_ = shape;
      last_point_ = &known->second;
    }
    return *last_point_;
  }

  // Whether the next event is wanted, too.
  bool take(const CtfEvent& event) {
    ++trace_.events;
    const CtfPoint& what = point(event.shape);
    const int64_t own_ns = event.integer(CtfRole::kTime, 0);
    const int64_t time_ns = own_ns <= 0 ? event.time_ns
                            : !event.timed
                                ? own_ns
                                : payload_time(own_ns, event.time_ns, event.clock_offset_ns);
    if ((!event.timed && own_ns <= 0) || time_ns > kMaxNs || time_ns < -kMaxNs) {
      trace_.warn("events without a time, left out", trace_.events);
      return true;
    }
    const double time_us = static_cast<double>(time_ns) / kNsPerUsF;
    first_us_ = first_us_.value_or(time_us);
    last_us_ = std::max(last_us_, time_us);
    if (trace_.spans.size() >= limit_) {
      stop();
      return false;
    }
    const int64_t thread = thread_of(event);
    if (window_.holds(time_us - *first_us_)) {
      take_in_window(event, what, thread, time_us);
    } else if (what.use == CtfUse::kEnd) {
      spans_.end(event, what, thread, time_us);  // of a span that began in the window, if any
    } else {
      learn(event, what);
    }
    return true;
  }

  void stop() {
    full_ = true;
    trace_.warn_of_file(fmt::format(
        "only the first {:.4g} s {}are read ({} spans in all); --window FROM,TO reads another part",
        (last_us_ - *first_us_) / 1e6, prefix_.empty() ? "" : "of " + prefix_, window_.most_spans));
  }

  // Outside of the window, only what other events refer to.
  void learn(const CtfEvent& event, const CtfPoint& what) {
    if (what.use == CtfUse::kSwitch) {
      running_[cpu_of(event)] = {event.integer({"next_tid"}),
                                 std::string(event.text({"next_comm"})), 0, false};
    } else if (what.use == CtfUse::kLaunch || what.use == CtfUse::kIgnored) {
      spans_.names().learn(event);
    }
  }

  void take_in_window(const CtfEvent& event, const CtfPoint& what, int64_t thread, double time_us) {
    if (what.syscall) {
      threads_.in_call(thread, what.use == CtfUse::kBegin ? what.base : "");
    }
    switch (what.use) {
      case CtfUse::kBegin:
        spans_.begin(event, what, thread, time_us);
        break;
      case CtfUse::kEnd:
        spans_.end(event, what, thread, time_us);
        break;
      case CtfUse::kLaunch:
        spans_.queued(event, thread, time_us);
        break;
      case CtfUse::kMemory:
        memory_.allocation(event, what.name, time_us, spans_.host_track(event, thread), &trace_);
        break;
      case CtfUse::kAllocator:
        AllocatorEvents::statistics(event, time_us, &trace_);
        break;
      case CtfUse::kTransfer:
        transfers_.take(event, what.name, time_us, spans_.host_track(event, thread), prefix_,
                        &trace_);
        break;
      case CtfUse::kQueueStats:
        add_queue_length(event, time_us);
        break;
      case CtfUse::kCounter:
        spans_.counters().counter(event, &trace_);
        break;
      case CtfUse::kCounterGroup:
        spans_.counters().next_kernel();
        break;
      default:
        take_of_kernel(event, what, thread, time_us);
    }
  }

  void take_of_kernel(const CtfEvent& event, const CtfPoint& what, int64_t thread, double time_us) {
    switch (what.use) {
      case CtfUse::kSwitch:
        threads_.switched(event, time_us, &trace_);
        switch_thread(event, time_us);
        break;
      case CtfUse::kWakeup:
        threads_.woken(event, time_us);
        break;
      case CtfUse::kFault:
        threads_.faulted(thread, time_us, &trace_);
        break;
      case CtfUse::kInterrupt: {
        const std::string_view named = event.text(CtfRole::kName);
        threads_.interrupt_begins(cpu_of(event), named.empty() ? what.base : named, time_us);
        break;
      }
      case CtfUse::kInterruptEnd:
        threads_.interrupt_ends(cpu_of(event), thread, time_us, &trace_);
        break;
      default:
        spans_.names().learn(event);
    }
  }

  static int64_t cpu_of(const CtfEvent& event) { return event.integer(CtfRole::kCpu, 0); }

  int64_t thread_of(const CtfEvent& event) const {
    const int64_t thread = event.integer(CtfRole::kThread);
    if (thread >= 0) {
      return thread;
    }
    // Kernel traces say who runs on a CPU once, when it comes there.
    const auto running = running_.find(cpu_of(event));
    return running == running_.end() ? -1 : running->second.thread;
  }

  struct Running {
    int64_t thread = -1;
    std::string name;
    double since_us = 0;
    bool known_start = false;
  };

  void switch_thread(const CtfEvent& event, double time_us) {
    Running& running = running_[cpu_of(event)];
    const std::string_view previous = event.text({"prev_comm"});
    // The idle task is the one that is not running anything.
    if (running.known_start && event.integer({"prev_tid"}, 0) != 0) {
      Span span;
      span.start_us = running.since_us;
      span.end_us = std::max(time_us, running.since_us);
      span.name = trace_.intern(printable(previous.empty() ? running.name : previous));
      span.track = trace_.track_of(prefix_ + "CPUs", fmt::format("CPU {}", cpu_of(event)));
      trace_.spans.push_back(span);
    }
    running = {event.integer({"next_tid"}), std::string(event.text({"next_comm"})), time_us, true};
  }

  // hcTracer counts what is in a queue of the runtime.
  void add_queue_length(const CtfEvent& event, double time_us) {
    const CtfField* const queue = event.find(CtfRole::kQueue);
    const std::string name = queue == nullptr ? "0"
                             : queue->kind == CtfField::Kind::kText
                                 ? printable(queue->text)
                                 : fmt::format("{}", queue->integer);
    trace_.counters.push_back({time_us, trace_.track_of(prefix_ + "queues", name),
                               trace_.intern(kQueueLengthCounter),
                               static_cast<double>(event.integer({"size", "length"}, 0))});
  }

  // A trace of a system alone: the recorded spans are those that ran there.
  void promote_host_spans() {
    for (const Span& span : trace_.spans) {
      if (span.kind == SpanKind::kOp || is_device_work(span.kind)) {
        return;
      }
    }
    for (Span& span : trace_.spans) {
      span.kind = span.kind == SpanKind::kOther ? SpanKind::kOp : span.kind;
    }
  }

  Trace trace_;
  TraceWindow window_;
  std::optional<double> first_us_;  // the first event of all
  size_t limit_ = 0;                // of spans, while this part is read
  bool full_ = false;               // it is reached
  std::string prefix_;              // of the processes of one of several traces
  double last_us_ = 0;
  std::unordered_map<const CtfShape*, CtfPoint> points_;
  const CtfShape* last_shape_ = nullptr;
  const CtfPoint* last_point_ = nullptr;
  CtfSpans spans_;
  ThreadStates threads_;
  AllocatorEvents memory_;
  TransferEvents transfers_;
  std::map<int64_t, Running> running_;  // by CPU
};

bool has_metadata(const fs::path& folder) {
  std::error_code error;  // a file that is not there is one
  return fs::is_regular_file(folder / "metadata", error);
}

std::vector<std::string> find_traces(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  if (has_metadata(folder)) {
    found.push_back(folder);
  }
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (it.depth() > kMaxDepth) {
      it.disable_recursion_pending();
    }
    if (has_metadata(it->path())) {
      found.push_back(it->path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

Sniff sniff_ctf(const TraceInput& input) {
  const bool found =
      input.kind() == TraceInput::Kind::kFolder && !find_traces(input.path()).empty();
  return found ? Sniff::kYes : Sniff::kNo;
}

StatusOr<Trace> read_ctf(TraceInput input) {
  return CtfReader(input.path(), input.window()).read(find_traces(input.path()));
}

}  // namespace

TraceReader ctf_trace_reader() {
  return {.name = "ctf",
          .description = "LTTng and other CTF traces (a folder)",
          .sniff = sniff_ctf,
          .read = read_ctf,
          .folder = "a CTF trace (a folder with a file 'metadata')",
          .folder_files = "metadata channel_0",
          .cuts = true};
}

}  // namespace dfsim::inline datasets
