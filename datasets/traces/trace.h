// Trace: what really ran, as a profiler recorded it, in one form for every format.
//
// Spans are on tracks (host threads, queues of devices) and are linked between the levels: an
// operator of the framework makes calls of the device's runtime, and those launch kernels and
// copies. Times are microseconds on the file's own clock, as the doubles of the file and not as
// nanoseconds: the tools that others publish results with calculate on these doubles, and only so
// do our figures equal theirs to the last digit. Invariants (after finish_trace): spans are sorted
// by start, then by falling end, then by their place in the file; end_us >= start_us, both finite;
// ids are valid or none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"

namespace dfsim::inline datasets {

using SpanId = Id<struct SpanTag>;
using TrackId = Id<struct TrackTag>;
using NameId = Id<struct NameTag>;

enum class SpanKind : uint8_t {
  kOther,
  kAnnotation,  // a range that the program names, such as a step
  kPython,      // a function of the program
  kOp,          // an operator of the framework's graph
  kRuntime,     // a call of the device's runtime or driver
  kKernel,
  kCopy,
  kMemset,
  kSync,  // a wait that the device's profiler reports
};
inline constexpr int kSpanKindCount = static_cast<int>(SpanKind::kSync) + 1;
std::string_view span_kind_name(SpanKind kind);

// Work of a device: kernels, copies, memsets.
constexpr bool is_device_work(SpanKind kind) {
  return kind == SpanKind::kKernel || kind == SpanKind::kCopy || kind == SpanKind::kMemset;
}

enum class TrackKind : uint8_t { kHost, kDevice };

struct Track {
  std::string process;  // name of the process or device
  std::string name;     // of the thread or queue
  TrackKind kind = TrackKind::kHost;
  int64_t device = -1;  // of a device's queue
  int64_t thread = -1;  // the operating system's number of a host thread, where the format has it
};

struct Span {
  double start_us = 0;
  double end_us = 0;
  NameId name;
  TrackId track;
  NameId detail;  // operand shapes and types of an op, as the format writes them; may be none
  SpanKind kind = SpanKind::kOther;
  bool communication =
      false;                 // of collectives or between devices: by its name, or as the file says
  int64_t correlation = -1;  // joins a runtime call and the work it launched
  int64_t external = -1;     // joins calls and work with their operator
  Bytes bytes = -1;          // of a copy or memset
  SpanId parent;             // innermost span around it on the same host track
  SpanId launch;             // of device work and syncs: the runtime call
  SpanId op;  // the operator that a call or device work belongs to; of operators, the one around
  NameId operands;   // of an op: all that is recorded of its operands, for span_ops.h; may be none
  NameId placement;  // of an op: where the framework placed it ("/job:worker/task:1/device:GPU:0")
  double duration_us() const { return end_us - start_us; }
};

// The work that a kSync span waited for.
struct SyncTarget {
  SpanId span;
  int64_t stream = -1;
  int64_t record_correlation = -1;  // of the call that recorded the event
};

struct MemoryRecord {
  double time_us = 0;
  int64_t device = -1;  // -1 = host
  uint64_t address = 0;
  Bytes bytes = 0;       // negative when freed
  Bytes requested = -1;  // of an allocation: without what rounding adds; -1 = not recorded
  Bytes allocated = -1;  // in use after it; -1 = not recorded
  Bytes reserved = -1;   // taken from the device after it
  TrackId track;         // of the thread that asked for it
  NameId tensor;         // when the format names it
  NameId allocator;      // "GPU_0_bfc", when the format names it
};

// The state of an allocator that hands out chunks of memory which it holds (TensorFlow's BFC), or
// of one of its bins. -1 = not recorded.
struct AllocatorSample {
  double time_us = 0;
  NameId allocator;
  int64_t device = -1;  // -1 = host
  int64_t bin = -1;     // -1 = of the whole allocator
  Bytes in_use = -1;
  Bytes requested = -1;  // of the bytes in use: what was asked for; the rest is rounding
  Bytes reserved = -1;   // held from the device
  int64_t chunks = -1;
  int64_t chunks_in_use = -1;
  int64_t allocations = -1;  // so far
};

// A tensor that travels between workers (rendezvous, gRPC).
struct Transfer {
  NameId key;
  double requested_us = 0;  // the receiver asked for it
  double produced_us = 0;   // the sender had it
  double arrived_us = 0;
  TrackId from;                  // thread that produced it; may be none
  TrackId to;                    // thread that asked for it; may be none
  NameId source;                 // device; may be none
  NameId destination;            // may be none
  Bytes bytes = -1;              // -1 = not recorded
  SpanId span;                   // from when it left to when it arrived
  bool arrival_recorded = true;  // else it is the start of the operator that used it
  // When it left: once it was both asked for and produced.
  double began_us() const { return requested_us > produced_us ? requested_us : produced_us; }
};

// A performance counter of one span: the events that it counted while the span lasted.
struct SpanCounter {
  SpanId span;
  NameId name;
  double value = 0;
};

// Samples of this name say how much a device's queue holds; the track is the queue's.
inline constexpr std::string_view kQueueLengthCounter = "queue length";

struct CounterSample {
  double time_us = 0;
  TrackId track;
  NameId name;
  double value = 0;
};

// One end of an arrow between spans.
struct FlowPoint {
  double time_us = 0;
  NameId id;  // category and id: equal for both ends
  TrackId track;
  bool start = false;
};

// A time in which a host thread did not run, from the operating system's own trace.
struct ThreadPause {
  enum class Kind : uint8_t { kPreempted, kBlocked, kInterrupted };
  int64_t thread = -1;  // Track::thread
  double start_us = 0;
  double end_us = 0;
  Kind kind = Kind::kPreempted;
  NameId cause;  // the program or interrupt that ran instead; the call that waits. None: not known
};

// A page that a thread touched first or that had left memory.
struct PageFault {
  int64_t thread = -1;
  double time_us = 0;
};

struct TraceWarning {
  std::string text;
  int64_t count = 0;
  int64_t first_event = 0;  // from 1, in the order of the file
  bool of_file = false;     // says something of the whole file: there is nothing to count
};

struct Trace {
  std::string path;
  std::string format;  // as trace_formats() names it
  std::string device_name;
  int64_t rank = -1;
  int64_t world_size = -1;
  int64_t events = 0;  // in the file, of all kinds
  // The format links all work that belongs to the recorded operators: work without an operator was
  // launched before or after them.
  bool links_work = false;
  std::vector<Track> tracks;
  std::vector<Span> spans;
  std::vector<SyncTarget> syncs;
  std::vector<MemoryRecord> memory;
  std::vector<CounterSample> counters;
  std::vector<FlowPoint> flows;
  std::vector<ThreadPause> pauses;  // of each thread in order of time
  std::vector<PageFault> faults;    // of each thread in order of time
  std::vector<AllocatorSample> allocators;
  std::vector<Transfer> transfers;  // in order of arrival
  std::vector<SpanCounter> span_counters;
  std::vector<TraceWarning> warnings;

  NameId intern(std::string_view text);
  // "" for none.
  const std::string& text(NameId name) const;
  const Span& span(SpanId id) const { return spans[id.index()]; }
  const Track& track(TrackId id) const { return tracks[id.index()]; }
  // The track of that process and thread, made when it is new; names are set later.
  TrackId track_of(std::string_view process, std::string_view thread);
  // Counts one more of this kind.
  void warn(std::string_view text, int64_t event, int64_t count = 1);
  // Warnings about the whole file, such as that it is cut off.
  void warn_of_file(std::string_view text, int64_t event = 0);

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, NameId> ids_;
  std::unordered_map<uint64_t, TrackId> track_ids_;
};

// Sorts, links the levels and finds parents. Call once, when a reader has added everything.
// O(n log n).
void finish_trace(Trace* trace);

// Joins text case-insensitively known to name collective communication (NCCL, RCCL).
bool is_communication(std::string_view kernel);

enum class CopyDirection : uint8_t {
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kPeer,
  kUnknown
};
inline constexpr int kCopyDirectionCount = static_cast<int>(CopyDirection::kUnknown) + 1;
std::string_view copy_direction_name(CopyDirection direction);
// From a copy's name, such as "Memcpy HtoD (Pinned -> Device)".
CopyDirection copy_direction(std::string_view name);

}  // namespace dfsim::inline datasets
