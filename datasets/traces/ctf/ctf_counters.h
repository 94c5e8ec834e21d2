// CounterEvents: performance counters of a CTF trace. LTTng's perf contexts
// (`lttng add-context -u -t perf:thread:instructions`) write the thread's counts into every event:
// a span's share is what was counted from its begin to its end. Interception of a GPU's runtime
// writes the counters of each kernel one after the other, in the order of the kernels.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "datasets/traces/ctf/ctf_event.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

class CounterEvents {
 public:
  // The perf contexts of an event.
  using Counts = std::vector<std::pair<NameId, int64_t>>;
  Counts counts_of(const CtfEvent& event, Trace* trace);
  // Adds the counts between two events to the span-th span.
  static void add(const Counts& begin, const Counts& end, size_t span, Trace* trace);

  // The counters of another kernel follow.
  void next_kernel();
  void counter(const CtfEvent& event, Trace* trace);
  // Joins the kernels' counters with the kernels, once all spans are read.
  void finish(Trace* trace);

 private:
  struct KernelCounter {
    size_t kernel;
    NameId name;
    double value;
  };

  std::unordered_map<const CtfShape*, std::vector<size_t>> contexts_;  // fields that are counters
  std::vector<KernelCounter> of_kernels_;
  size_t kernels_ = 0;      // whose counters have begun
  bool announced_ = false;  // by an event of its own
  int64_t last_index_ = -1;
};

}  // namespace dfsim::inline datasets
