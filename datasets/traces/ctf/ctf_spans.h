// CtfSpans: begins and ends of tracepoints become spans.
//
// Tracepoints come in pairs (X_start and X_end, X_begin and X_end, X_entry and X_exit) on one
// thread, or on one queue of a device; nested ones end in reverse order, others are matched by
// their name. A copy may end under another name than it began with: such an end belongs to the
// oldest open one of its tracepoint.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "datasets/traces/ctf/ctf_counters.h"
#include "datasets/traces/ctf/ctf_event.h"
#include "datasets/traces/ctf/ctf_launches.h"
#include "datasets/traces/ctf/ctf_names.h"
#include "datasets/traces/ctf/ctf_points.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

class CtfSpans {
 public:
  explicit CtfSpans(Trace* trace) : trace_(*trace) {}

  // Names of processes of one of several traces begin with it.
  void set_prefix(std::string prefix);
  // `thread` is the number of the thread that the event happened on, -1 = not known.
  void begin(const CtfEvent& event, const CtfPoint& point, int64_t thread, double time_us);
  void end(const CtfEvent& event, const CtfPoint& point, int64_t thread, double time_us);
  // Work is put into a device's queue.
  void queued(const CtfEvent& event, int64_t thread, double time_us);
  // Spans may have begun outside of what is read: the trace is right to have their ends.
  void expect_foreign_ends() { foreign_ends_ = true; }
  // The track of a host thread.
  TrackId host_track(const CtfEvent& event, int64_t thread, bool async = false);
  CtfNames& names() { return names_; }
  CounterEvents& counters() { return counters_; }
  // A trace ends at `last_us`: so do its open spans. `cut`: it goes on, but is not read further.
  void close_open(double last_us, bool cut);
  // After all traces: joins work with its launches and counters with their kernels.
  void finish();

 private:
  struct Open {
    Span span;
    CounterEvents::Counts counts;
    NameId base;
    NameId given;  // the name in the event, which the end repeats as a rule
    bool stream_copy = false;
  };

  TrackId track_of(const CtfEvent& event, const CtfPoint& point, int64_t thread);
  NameId given_name(const CtfEvent& event, const CtfPoint& point);
  NameId innermost_op(TrackId track) const;
  std::vector<Open>::iterator find_begin(std::vector<Open>* stack, NameId base, NameId given,
                                         int64_t correlation, bool device);

  Trace& trace_;
  std::string prefix_;
  bool foreign_ends_ = false;
  CtfNames names_;
  CounterEvents counters_;
  CtfLaunchJoiner launches_;
  std::unordered_map<TrackId, std::vector<Open>> open_;
  // Tracks by number of thread, of its operations and of its asynchronous ones.
  std::unordered_map<int64_t, TrackId> threads_;
  std::unordered_map<int64_t, TrackId> async_threads_;
  // Tracks of queues that have numbers: device, queue, and whether of barriers.
  using QueueKey = std::tuple<int64_t, int64_t, bool>;
  std::map<QueueKey, TrackId> queues_;
  std::unordered_map<std::string, NameId> calls_;    // by what the tracer writes
  std::vector<size_t> stream_copies_;                // spans
  std::unordered_map<NameId, std::string> workers_;  // of placements
};

}  // namespace dfsim::inline datasets
