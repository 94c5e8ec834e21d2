// What `dfsim inspect` says about a model: facts of the graph that need no hardware.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graphs/algorithms/symbol_study.h"
#include "graphs/ir/import.h"
#include "graphs/ops/totals.h"

namespace dfsim::inline report {

struct InspectOptions {
  bool ops = false;         // a line per op
  bool unresolved = false;  // only ops that could not be resolved, all of them
};

// How the operators depend on each other.
struct GraphStructure {
  size_t depth = 0;            // operators on the longest chain, views included
  size_t width = 0;            // most operators of one level, none of which waits for another
  int64_t critical_flops = 0;  // FLOPs of the chain that has most of them
};

StatusOr<GraphStructure> graph_structure(const Graph& graph, const GraphTotals& totals);

// Everything that is printed, collected once.
struct Inspection {
  std::string name;
  const ImportedModel& model;
  const GraphTotals& totals;
  GraphStructure structure;
  std::span<const StudiedSymbol> symbols = {};  // what hangs on the model's dynamic dimensions
  std::string runtime = {};                     // that executes the graph so; "" = the file's own
  std::vector<std::string> passes = {};         // of the runtime that changed something
};

std::string inspection_text(const Inspection& inspection, const InspectOptions& options,
                            size_t width = 100);
// Schema: docs/commands/inspect.md. Holds everything whatever the options.
std::string inspection_json(const Inspection& inspection);

}  // namespace dfsim::inline report
