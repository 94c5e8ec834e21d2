// Traces in the Common Trace Format: LTTng's of the kernel and of user space, and the tracepoints
// of the GPU-dataflow tracing method (Zins and Dagenais, 2019), which ctf_points.h names.
//
// Tracepoints come in pairs (X_start and X_end, X_begin and X_end, X_entry and X_exit) on one
// thread, or on one queue of a device; nested ones end in reverse order, others are matched by
// their name. A folder may hold several traces (kernel/, ust/): each has its own clock.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "datasets/traces/ctf/ctf_events.h"
#include "datasets/traces/ctf/ctf_launches.h"
#include "datasets/traces/ctf/ctf_points.h"
#include "datasets/traces/ctf/ctf_threads.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 6;
constexpr double kNsPerUsF = 1000;
constexpr int64_t kMaxNs = int64_t{1} << 62;

class CtfReader {
 public:
  explicit CtfReader(const std::string& path) {
    trace_.path = path;
    trace_.format = "ctf";
  }

  StatusOr<Trace> read(const std::vector<std::string>& folders) {
    std::string first_error;
    std::optional<bool> wall_clock;
    for (const std::string& folder : folders) {
      prefix_ = folders.size() > 1 ? fs::path(folder).filename().string() + " " : "";
      const auto summary = read_ctf_events(folder, [this](const CtfEvent& event) { take(event); });
      close_open();
      if (!summary.ok()) {
        first_error = first_error.empty() ? summary.status().message() : first_error;
        trace_.warn_of_file(fmt::format("the trace in {} is left out: {}", folder,
                                        printable(summary.status().message(), 200)));
        continue;
      }
      note(*summary, &wall_clock);
    }
    promote_host_spans();
    if (trace_.spans.empty() && trace_.events == 0) {
      return invalid_input(fmt::format(
          "{}: {}", trace_.path, first_error.empty() ? "a CTF trace without events" : first_error));
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

  void take(const CtfEvent& event) {
    ++trace_.events;
    const int64_t own_ns = event.integer({"timestamp", "gpu_timestamp"}, 0);
    const int64_t time_ns = own_ns > 0 ? own_ns : event.time_ns;
    if ((!event.timed && own_ns <= 0) || time_ns > kMaxNs || time_ns < -kMaxNs) {
      trace_.warn("events without a time, left out", trace_.events);
      return;
    }
    const double time_us = static_cast<double>(time_ns) / kNsPerUsF;
    last_us_ = std::max(last_us_, time_us);
    const size_t colon = event.name.find(':');
    const std::string_view provider =
        colon == std::string_view::npos ? "" : event.name.substr(0, colon);
    const std::string_view name =
        colon == std::string_view::npos ? event.name : event.name.substr(colon + 1);
    if (name == "sched_switch") {
      threads_.switched(event, time_us, &trace_);
      switch_thread(event, time_us);
    } else if (name == "sched_wakeup" || name == "sched_waking") {
      threads_.woken(event, time_us);
    } else if (name.starts_with("memory_")) {
      add_memory(event, name, time_us);
    } else if (name.starts_with("bfc_")) {
      add_counters(event, name, time_us);
    } else if (name == "rdv_send" || name == "rdv_recv") {
      meet(event, name == "rdv_send", time_us);
    } else {
      const CtfPoint point = point_of(name);
      if (name.starts_with("syscall_")) {
        threads_.in_call(thread_of(event), point.begin ? point.base : "");
      }
      if (point.begin) {
        begin(event, provider, point.base, time_us);
      } else if (point.end) {
        end(event, provider, point.base, time_us);
      }
    }
  }

  int64_t cpu_of(const CtfEvent& event) const { return event.integer({"cpu_id"}, 0); }

  int64_t thread_of(const CtfEvent& event) const {
    const int64_t thread = event.integer({"vtid", "tid", "thread_id"});
    if (thread >= 0) {
      return thread;
    }
    // Kernel traces say who runs on a CPU once, when it comes there.
    const auto running = running_.find(cpu_of(event));
    return running == running_.end() ? -1 : running->second.thread;
  }

  TrackId track_of(const CtfEvent& event, SpanKind kind, std::string_view base) {
    if (is_device_work(kind)) {
      const int64_t device = event.integer({"device_id", "deviceId", "agent_handle"}, 0);
      const int64_t queue = event.integer({"stream_id", "streamId", "queue_id", "queue_handle"}, 0);
      const TrackId id =
          trace_.track_of(fmt::format("device {}", device), fmt::format("{}", queue));
      trace_.tracks[id.index()].kind = TrackKind::kDevice;
      trace_.tracks[id.index()].device = device;
      return id;
    }
    const int64_t thread = thread_of(event);
    // Asynchronous operations overlap on the thread that starts them.
    const std::string_view part = base.starts_with("async_") ? " async" : "";
    if (thread < 0) {
      return trace_.track_of(prefix_ + "host", fmt::format("CPU {}{}", cpu_of(event), part));
    }
    const TrackId id = trace_.track_of(prefix_ + "host", fmt::format("{}{}", thread, part));
    trace_.tracks[id.index()].thread = thread;
    return id;
  }

  struct Open {
    Span span;
    NameId base;
    NameId given;  // the name in the event, which the end repeats as a rule
  };

  void begin(const CtfEvent& event, std::string_view provider, std::string_view base,
             double time_us) {
    Open open;
    Span& span = open.span;
    span.kind = point_kind(provider, base);
    span.start_us = time_us;
    span.track = track_of(event, span.kind, base);
    open.base = trace_.intern(base);
    const std::string_view name = point_name(event);
    const std::string_view type = event.text({"type", "op_type", "type_string"});
    span.name = trace_.intern(printable(name.empty() ? base : name, 1000));
    if (span.kind == SpanKind::kOp && !type.empty()) {
      span.detail = span.name;
      span.name = trace_.intern(printable(type, 1000));
    } else if (span.kind == SpanKind::kCopy) {
      span.name = trace_.intern(copy_title(event));
    }
    open.given = trace_.intern(printable(name, 1000));
    span.correlation = event.integer({"correlation_id", "correlationId", "id"});
    if (span.kind == SpanKind::kCopy || span.kind == SpanKind::kMemset) {
      span.bytes = point_bytes(event);
    }
    if (span.correlation < 0 && span.kind == SpanKind::kRuntime) {
      span.correlation = launches_.call(name, innermost_op(span.track), time_us);
    } else if (span.correlation < 0 && is_device_work(span.kind)) {
      span.correlation = launches_.work(span.kind, name, time_us);
    }
    open_[span.track].push_back(open);
  }

  // The name of the operator that is open on a thread, "" if none is.
  std::string_view innermost_op(TrackId track) const {
    const auto stack = open_.find(track);
    if (stack == open_.end()) {
      return "";
    }
    const auto op = std::find_if(stack->second.rbegin(), stack->second.rend(),
                                 [](const Open& open) { return open.span.kind == SpanKind::kOp; });
    if (op == stack->second.rend()) {
      return "";
    }
    return trace_.text(op->given);
  }

  // The innermost open one of the same tracepoint, and of the same name where the end has one. Some
  // tracers name the ends of copies unlike their begins: these end the oldest open one.
  void end(const CtfEvent& event, std::string_view provider, std::string_view base,
           double time_us) {
    const SpanKind kind = point_kind(provider, base);
    std::vector<Open>& stack = open_[track_of(event, kind, base)];
    const NameId wanted = trace_.intern(base);
    const std::string_view name = point_name(event);
    const int64_t correlation = event.integer({"correlation_id", "correlationId", "id"});
    const auto may_end = [&](const Open& open) {
      return open.base == wanted &&
             (correlation < 0 || open.span.correlation < 0 || open.span.correlation == correlation);
    };
    const auto fits = [&](const Open& open) {
      return may_end(open) &&
             (name.empty() || correlation >= 0 || trace_.text(open.given) == printable(name, 1000));
    };
    auto found = stack.end();
    if (const auto inner = std::find_if(stack.rbegin(), stack.rend(), fits);
        inner != stack.rend()) {
      found = std::prev(inner.base());
    } else if (is_device_work(kind)) {
      found = std::find_if(stack.begin(), stack.end(), may_end);
    }
    if (found == stack.end()) {
      trace_.warn("ends of spans that never began, left out", trace_.events);
      return;
    }
    Span span = found->span;
    span.end_us = time_us;
    stack.erase(found);
    if (span.end_us < span.start_us) {
      trace_.warn("spans with a negative duration, left out", trace_.events);
      return;
    }
    trace_.spans.push_back(span);
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

  void add_memory(const CtfEvent& event, std::string_view name, double time_us) {
    MemoryRecord record;
    record.time_us = time_us;
    record.track = track_of(event, SpanKind::kOther, name);
    record.address = address_of(event);
    const int64_t bytes = std::clamp<int64_t>(
        event.integer({"num_bytes", "bytes", "size", "allocated_bytes"}, 0), 0, int64_t{1} << 60);
    if (name.starts_with("memory_alloc")) {
      record.bytes = bytes;
      sizes_[record.address] = bytes;
    } else {
      // Frees often name the address only.
      const auto known = sizes_.find(record.address);
      record.bytes = bytes > 0 ? -bytes : known == sizes_.end() ? 0 : -known->second;
      sizes_.erase(record.address);
    }
    record.device = allocator_device(event);
    const std::string_view tensor = event.text({"tensor_name", "op_name", "name"});
    if (!tensor.empty()) {
      record.tensor = trace_.intern(printable(tensor, 1000));
    }
    trace_.memory.push_back(record);
  }

  void add_counters(const CtfEvent& event, std::string_view name, double time_us) {
    const TrackId track = trace_.track_of(prefix_ + "host", "allocator");
    for (const CtfField& field : event.fields) {
      if (field.kind != CtfField::Kind::kText && field.name != "cpu_id" && field.name != "vtid" &&
          field.name != "vpid") {
        const double value =
            field.kind == CtfField::Kind::kReal ? field.real : static_cast<double>(field.integer);
        trace_.counters.push_back(
            {time_us, track, trace_.intern(fmt::format("{}.{}", name, field.name)), value});
      }
    }
  }

  // A receiver that comes first waits until the sender has come.
  void meet(const CtfEvent& event, bool send, double time_us) {
    const std::string key(event.text({"key", "tensor_name", "name"}));
    const TrackId track = track_of(event, SpanKind::kOther, "rdv");
    trace_.flows.push_back({time_us, trace_.intern("rendezvous " + key), track, send});
    if (!send) {
      waiting_[key] = {time_us, trace_.track_of(prefix_ + "rendezvous", printable(key))};
      return;
    }
    const auto waiting = waiting_.find(key);
    if (waiting != waiting_.end()) {
      Span span;
      span.start_us = waiting->second.first;
      span.end_us = std::max(time_us, span.start_us);
      span.name = trace_.intern("Rendezvous wait");
      span.detail = trace_.intern(printable(key, 1000));
      span.track = waiting->second.second;
      trace_.spans.push_back(span);
      waiting_.erase(waiting);
    }
  }

  void close_open() {
    for (auto& [track, stack] : open_) {
      for (Open& open : stack) {
        trace_.warn("spans that never end, taken to last until the trace's end", 0);
        open.span.end_us = std::max(last_us_, open.span.start_us);
        trace_.spans.push_back(open.span);
      }
    }
    open_.clear();
    running_.clear();
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
  std::string prefix_;  // of the processes of one of several traces
  double last_us_ = 0;
  std::map<TrackId, std::vector<Open>> open_;
  CtfLaunchJoiner launches_;
  ThreadStates threads_;
  std::map<int64_t, Running> running_;  // by CPU
  std::unordered_map<uint64_t, Bytes> sizes_;
  std::map<std::string, std::pair<double, TrackId>> waiting_;
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
  return CtfReader(input.path()).read(find_traces(input.path()));
}

}  // namespace

TraceReader ctf_trace_reader() {
  return {.name = "ctf",
          .description = "LTTng and other CTF traces (a folder)",
          .sniff = sniff_ctf,
          .read = read_ctf,
          .folder = "a CTF trace (a folder with a file 'metadata')",
          .folder_files = "metadata channel_0"};
}

}  // namespace dfsim::inline datasets
