// Steps of analyze_trace(), one file each. `work` is what the breakdown is of.
#pragma once

#include <string_view>
#include <vector>

#include "datasets/traces/name_memo.h"
#include "study/analysis/trace_figures.h"

namespace dfsim::inline study {

// Measured over any set of spans.
Breakdown breakdown_of(const Trace& trace, const std::vector<SpanId>& spans);
// By span: whether it belongs to a part of the forward pass that checkpointing runs again. Parents
// come before their children.
std::vector<bool> recomputed_spans(const Trace& trace);
// Work that checkpointing does again, apart from the rest.
void add_recompute(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis);
// Tables of operators and nodes.
void add_op_rows(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis);
void add_kernel_rows(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis);
void add_copy_rows(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis);
// Calls and operators that do nothing but wait.
void add_waits(const Trace& trace, TraceAnalysis* analysis);
// The thing that a span waits for: "device" for calls that wait for it, also "input", "rendezvous",
// "rpc", "memory"; "" for others.
class WaitKinds {
 public:
  std::string_view of(const Trace& trace, const Span& span);

 private:
  NameMemo<std::string_view> calls_;
  NameMemo<std::string_view> others_;
};
// States of host threads inside operators and calls.
void add_host_states(const Trace& trace, TraceAnalysis* analysis);
// Transfers between workers, lengths of the runtime's queues, performance counters.
void add_transfers(const Trace& trace, TraceAnalysis* analysis);
void add_queue_lengths(const Trace& trace, TraceAnalysis* analysis);
void add_counters(const Trace& trace, TraceAnalysis* analysis);
// The allocator's view, one per allocator that the trace tells about.
void add_memory(const Trace& trace, TraceAnalysis* analysis);

}  // namespace dfsim::inline study
