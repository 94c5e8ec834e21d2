// The figures of an analysed trace (study/analysis/trace_analysis.h), apart from the function that
// collects them: each step of the analysis needs only these.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/traces/trace.h"
#include "study/analysis/advice_list.h"
#include "study/analysis/critical_path.h"

namespace dfsim::inline study {

struct Breakdown {
  double computation_us = 0;
  double exposed_communication_us = 0;
  double exposed_copy_us = 0;
  double idle_us = 0;
  double total_us = 0;
  double communication_us = 0;  // exposed or not
  double copy_us = 0;
  double busy_us() const { return computation_us + exposed_communication_us + exposed_copy_us; }
  // The part of communication time during which something is computed; 0 without communication.
  double overlap() const {
    return communication_us > 0 ? 1 - exposed_communication_us / communication_us : 0;
  }
};

// Statistics of several durations.
struct Spread {
  int64_t count = 0;
  double total_us = 0;
  double min_us = 0;
  double median_us = 0;
  double p95_us = 0;
  double max_us = 0;
  double deviation_us = 0;  // of the sample; 0 for one
  double mean_us() const { return count > 0 ? total_us / static_cast<double>(count) : 0; }
};
// Sums in the order given.
Spread spread_of(std::vector<double> durations_us);

enum class IdleCause : uint8_t {
  kHost,       // the work was launched only after the one before had ended
  kKernelGap,  // launched in time, and the gap is what the device needs between kernels
  kOther,      // launched in time, and still a gap: it waited for another queue or a memory
};
inline constexpr int kIdleCauseCount = 3;
std::string_view idle_cause_name(IdleCause cause);

// One queue (stream) of a device.
struct QueueUse {
  std::string device;
  std::string name;
  int64_t items = 0;
  double busy_us = 0;
  std::array<double, kIdleCauseCount> idle_us{};  // between its first and last item
  double mean_length = 0;                         // launched and not yet begun, over time
  int64_t max_length = 0;
};

struct LaunchStats {
  Spread call;   // host time of the calls that launch
  Spread delay;  // from the end of the call to the start of the work; 0 when it began earlier
  int64_t shorter_than_call = 0;  // pieces of work that take less than their own launch
};

// Spans of one name, and perhaps one detail (node or shapes).
struct OpRow {
  std::string name;
  std::string detail;
  int64_t calls = 0;   // with time of their own
  Spread time;         // per call: device work of the operator itself, or its own host time
  double host_us = 0;  // own time on the host, without operators inside
  double share = 0;    // of the summed times
};

struct KernelRow {
  std::string name;
  std::string kind;  // compute, communication, copy or memset
  Spread time;
  double share = 0;
};

struct CopyRow {
  CopyDirection direction = CopyDirection::kUnknown;
  std::string size_class;  // "" = all sizes
  Spread time;
  Bytes bytes = 0;         // of those that tell
  double bytes_per_s = 0;  // of those that tell; 0 = none does
};

struct LiveTensor {
  Bytes bytes = 0;
  std::string allocated_by;  // operator, or the tensor's name
  double since_us = 0;       // from the trace's start
};

// Chunks of one size class of an allocator, at its peak.
struct AllocatorBin {
  int64_t bin = 0;
  int64_t chunks = 0;
  int64_t chunks_in_use = 0;
  Bytes bytes = 0;
  Bytes in_use = 0;
};

struct AllocatorUse {
  int64_t device = -1;
  std::string allocator;  // "GPU_0_bfc"; "" = not recorded
  int64_t events = 0;
  Bytes peak_bytes = 0;
  double peak_us = 0;         // from the trace's start
  Bytes reserved_bytes = -1;  // at the peak
  Bytes max_reserved_bytes = -1;
  double fragmentation = 0;  // 1 - in use / reserved, at the peak
  Bytes wasted_bytes = -1;   // of those in use at the peak: what rounding adds; -1 = not recorded
  Bytes max_wasted_bytes = -1;
  int64_t chunks = -1;  // at the peak; -1 = not recorded
  int64_t free_chunks = -1;
  std::vector<AllocatorBin> bins;
  std::vector<LiveTensor> at_peak;                 // largest first, of those allocated in the trace
  std::vector<std::pair<double, Bytes>> timeline;  // in use, at most kTimelinePoints
};

struct WaitRow {
  std::string kind;  // device, input, rendezvous, rpc, memory
  std::string name;
  Spread time;
};

// Tensors that travelled from one device to another of a distributed run, of one key.
struct TransferRow {
  std::string key;
  std::string source;
  std::string destination;
  Bytes bytes = -1;       // of one of them; -1 = not recorded
  Spread time;            // from when it left to when it arrived
  double waited_us = 0;   // the receiver asked before the sender had it
  bool inferred = false;  // an arrival is the start of the operator that used it
};

// How much a queue of the device's runtime held, as its tracer counts it.
struct QueueLengthRow {
  std::string queue;
  int64_t samples = 0;
  double mean = 0;  // over time
  double max = 0;
};

// A performance counter of an operator or kernel.
struct CounterRow {
  std::string name;  // of the operator or kernel
  std::string counter;
  int64_t spans = 0;  // that have it
  double total = 0;
};

// Where the time of an operator or call on the host went, where the kernel's trace says: running is
// what the three others leave of the total.
struct HostStateRow {
  std::string name;
  bool call = false;  // of the device's runtime, not an operator
  int64_t calls = 0;
  double total_us = 0;
  double preempted_us = 0;
  double blocked_us = 0;
  double device_us = 0;  // in calls that wait for the device
  double interrupted_us = 0;
  int64_t page_faults = 0;
  std::string interrupted_by;  // the handler that took most of it
  std::string preempted_by;    // the program that took most of it
  std::string blocked_in;      // the call that most of it passed in
};

// Parts of the forward pass that run again for the backward pass (activation checkpointing), and
// the rest, each as a breakdown of its own. Memsets, which prepare either, are left out.
struct RecomputeSplit {
  int64_t items = 0;  // pieces of work that run again; 0 = none, and no breakdowns
  Breakdown again;
  Breakdown first;
};

struct TraceAnalysis {
  std::string path;
  std::string format;
  std::string device_name;
  int64_t rank = -1;
  int64_t events = 0;
  int64_t spans = 0;
  double start_us = 0;  // on the file's clock
  double end_us = 0;
  std::string window;         // "FROM,TO" where only a part was asked for
  bool on_device = false;     // else the breakdown is the host's
  int64_t unlinked_work = 0;  // left out
  Breakdown breakdown;
  RecomputeSplit recompute;
  std::vector<double> collectives_us;  // durations of communication kernels, in order of start
  std::vector<QueueUse> queues;
  LaunchStats launches;
  std::vector<OpRow> ops;    // by name, most time first
  std::vector<OpRow> nodes;  // by name and detail, most time first
  std::vector<KernelRow> kernels;
  std::vector<CopyRow> copies;
  std::vector<AllocatorUse> memory;
  std::vector<WaitRow> waits;
  std::vector<TransferRow> transfers;         // most time first
  std::vector<QueueLengthRow> queue_lengths;  // by name
  std::vector<CounterRow> counters;           // by operator, then counter
  std::vector<HostStateRow> host_states;      // most time not running first; none without pauses
  Spread steps;                               // training steps or inferences
  TracePath critical_path;
  std::string path_method = "hta";  // whose definition it has: "hta" or "replay"
  AdviceList advice;                // by advise() (study/replay/advice.h)
  std::vector<TraceWarning> warnings;
};

inline constexpr size_t kTimelinePoints = 2000;

}  // namespace dfsim::inline study
