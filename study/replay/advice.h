// Advice with numbers: what to change about a recorded run, and what the simulator says that
// brings.
//
// Each rule looks for a pattern in the replay graph, applies its change to a copy of the graph and
// simulates it. A rule whose gain is not above the width of the run's 80 % interval (nor above one
// percent of the run) is not advised. Gains do not add up: each is of its change alone.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "study/analysis/trace_analysis.h"
#include "study/progress.h"
#include "study/replay/replay.h"

namespace dfsim::inline study {

// Fills analysis->advice. A trace with nothing to replay gets none.
// Errors: those of the simulation. O(rules x pieces log pieces).
Status advise(const Trace& trace, TraceAnalysis* analysis);
// The same with the result of make_replay_graph(trace).
Status advise(const Trace& trace, const ReplayGraph& graph, TraceAnalysis* analysis,
              const Progress& progress = {});

// The data that the rules examine.
struct AdviceInput {
  const Trace& trace;
  const TraceAnalysis& analysis;
  const ReplayGraph& graph;
};

// A rule's finding: the changed run, to be simulated. No text = nothing was found.
struct Finding {
  std::string insight;
  std::string action;
  ReplayGraph changed;
  double per_run = 1;  // how many recorded runs the changed one does the work of
  // Pieces of `changed` with times that were not measured: their low_ns and high_ns say how sure
  // they are.
  std::vector<uint32_t> uncertain;
  // Pieces of initialisation, which neither run has when they are compared.
  std::vector<uint32_t> aside;
};

struct AdviceRule {
  std::string_view kind;
  Finding (*find)(const AdviceInput& input);
};
// In the order of the documentation.
const std::vector<AdviceRule>& advice_rules();

// The rules, a few per file.
Finding find_launch_overhead(const AdviceInput& input);
Finding find_fusion(const AdviceInput& input);
Finding find_host_synchronisation(const AdviceInput& input);
Finding find_allocator_growth(const AdviceInput& input);
Finding find_input_stalls(const AdviceInput& input);
Finding find_pageable_copies(const AdviceInput& input);
Finding find_layout_copies(const AdviceInput& input);
Finding find_placement(const AdviceInput& input);
Finding find_worker_moves(const AdviceInput& input);
Finding find_exposed_communication(const AdviceInput& input);
Finding find_serial_section(const AdviceInput& input);
Finding find_batch_that_fits(const AdviceInput& input);
Finding find_recomputation(const AdviceInput& input);
Finding find_preemption(const AdviceInput& input);
Finding find_blocking_calls(const AdviceInput& input);
Finding find_thread_settings(const AdviceInput& input);

}  // namespace dfsim::inline study
