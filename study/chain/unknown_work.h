// The part of a model whose work is not known: where there is one, every time that is predicted for
// the model is a lower limit.
#pragma once

#include <cstddef>
#include <string>

#include "graphs/ir/graph.h"
#include "graphs/ir/import.h"

namespace dfsim::inline study {

// A time of which a larger share comes from bare bounds (CostSource::kBoundOnly) is a lower limit,
// too: results show the share next to the time, and no estimate competes with it.
inline constexpr double kMuchBoundOnly = 0.10;

// Results say which share of the time is for sizes as large as data can make them, from this one
// on.
inline constexpr double kMuchOfLargest = 0.05;

struct UnknownWork {
  size_t ops = 0;                  // executed operators whose work is not known
  size_t of = 0;                   // executed operators that carry work
  UnresolvedOpInfo first;          // the first cause, with the reason; perhaps a view
  bool has_no_definition = false;  // the first cause is an operator that dfsim does not know
  // The shapes of the first cause's inputs are known: only the data of a run tell those of its
  // results. `first.extents` are those that --dim can give.
  bool depends_on_values = false;
  // Loops whose trips are not known, of which one trip is counted. Their operators are known.
  size_t uncounted_loops = 0;
  // Loops that stay one operator (expand.h): the bound on the work of their trips is counted, and
  // nothing for starting the operators of each trip.
  size_t whole_loops = 0;
  // Such a loop's body has extents that depend on data, of which the largest possible count: its
  // part of the time is not a lower limit.
  bool assumes_most = false;

  bool complete() const { return ops == 0 && uncounted_loops == 0 && whole_loops == 0; }
};

// The work of an operator is not known when a shape that it touches is not, when dfsim has no
// definition of it, or when that holds for an operator inside its loop body or branch.
bool has_unknown_work(const Graph& graph, OpId op);

// The operator touches a tensor whose extents only the data of a run tell; it counts as large as it
// can be. Single elements do not matter. O(operands).
bool has_largest_sizes(const Graph& graph, OpId op);

// Counts the operators of an executed graph that carry work (neither views nor constants), and
// those of unknown work among them. `report` knows the reasons. O(operators + unresolved
// operators).
UnknownWork unknown_work(const Graph& executed, const ImportReport& report);

}  // namespace dfsim::inline study
