// Notes that importers of every format write about loops and branches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/ir/import.h"
#include "graphs/ops/infer.h"

namespace dfsim::inline graphs {

// "Loop 'a', 'b', 'c' and 4 more"; without `what` the names alone.
std::string some_names(std::string_view what, const std::vector<std::string>& names);

// Notes on Loops whose trip count and on Ifs whose condition is unknown before the run.
// Loops with products or convolutions become the report's uncounted ones.
void note_assumptions(const std::vector<OpenLoop>& open_loops,
                      const std::vector<std::string>& open_ifs, ImportReport* report);

// A note on where extents that depend on data begin; what follows has bounds, too.
void note_bounds(const GraphBuilder& builder, std::vector<std::string>* notes);

// Every name that a trip count is given for is that of a Loop, at any depth of nesting. Error
// (kInvalidInput) with the nearest name.
Status check_trip_counts(const ImportOptions& options, const Graph& graph);

}  // namespace dfsim::inline graphs
