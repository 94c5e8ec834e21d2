// PolicyOptions: what a user may set for the policies that search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dfsim::inline schedulers {

// Settings of the policies that search; the others ignore them.
struct PolicyOptions {
  // Budget of anneal and optimal. A time makes results depend on the machine's speed; iterations do
  // not. 0 = the policy's own default.
  double time_budget_s = 0;
  uint64_t iterations = 0;
  int threads = 0;                     // of portfolio; 0 = as many as the machine has
  std::vector<std::string> portfolio;  // members; empty = all fast static policies
};

}  // namespace dfsim::inline schedulers
