// Small problems typed by hand: the example graphs of the HEFT and PEFT papers.
#pragma once

#include <tuple>
#include <vector>

#include "schedulers/problem_instance.h"

namespace dfsim::testing {

using CostRows = std::vector<std::vector<double>>;            // -1 = cannot run there
using CommEdges = std::vector<std::tuple<int, int, double>>;  // from, to (numbered from 1), delay

// Devices P1, P2, ...; tasks named "1", "2", ...
ProblemInstance make_hand_instance(const CostRows& costs, const CommEdges& edges);

// Topcuoglu, Hariri, Wu 2002, figures 2 and 3.
ProblemInstance heft_paper();
// Arabnejad, Barbosa 2014, figure 1.
ProblemInstance peft_paper();

// A generated workload; `devices` columns, or identical ones when `identical`.
struct GraphShape {
  const char* name;
  size_t tasks;
};
ProblemInstance generated(const GraphShape& shape, size_t devices, double ccr, double restricted,
                          uint64_t seed, bool identical = false);

}  // namespace dfsim::testing
