// PolicyOptions: what a user may set for policies that search or have parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dfsim::inline schedulers {

// Every policy ignores the settings that are not its own.
struct PolicyOptions {
  // Budget of anneal and optimal. A time makes results depend on the machine's speed; iterations do
  // not. 0 = the policy's own default, which counts work and no time: anneal stops after 200,000
  // moves or 100 times the work that a list scheduler takes, at the least 20 million placements.
  double time_budget_s = 0;
  uint64_t iterations = 0;
  int threads = 0;                     // of portfolio; 0 = as many as the machine has
  std::vector<std::string> portfolio;  // members; empty = all fast static policies
  // Weight of the successors' out-degrees in donf2, donfl2, adon and adonl, 0 to 1 in the paper.
  double alpha = 0.5;
  // datacentric sends a task to its largest input when moving that input would take more than this
  // many times the task's own time.
  double ratio = 1.0;
  // Called by anneal now and then with the share of its budget that is spent, 0 to 1; may be empty.
  std::function<void(double share)> progress;
};

}  // namespace dfsim::inline schedulers
