// Inspect: facts about a model that need no hardware.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/algorithms/symbol_study.h"
#include "graphs/ir/import.h"
#include "graphs/ops/totals.h"
#include "study/chain/model_source.h"
#include "study/progress.h"

namespace dfsim::inline study {

struct InspectOptions {
  ModelOptions model;
  std::string runtime;  // file or name: the graph as it executes it; "" = the file's own
  std::string save;     // write the graph there as ONNX, without weights; "" = not
};

// How the operators depend on each other.
struct GraphStructure {
  size_t depth = 0;            // operators on the longest chain, views included
  size_t width = 0;            // most operators of one level, none of which waits for another
  int64_t critical_flops = 0;  // FLOPs of the chain that has most of them
};

StatusOr<GraphStructure> graph_structure(const Graph& graph, const GraphTotals& totals);

// The operators of one type.
struct TypeSummary {
  std::string op_type;  // with its domain
  std::string op_class;
  size_t ops = 0;
  int64_t macs = 0;
  int64_t flops = 0;
};
// By FLOPs, then count, then name.
std::vector<TypeSummary> summarise_types(const Graph& graph, const GraphTotals& totals);

struct Inspection {
  std::string name;
  ImportedModel model;  // its graph as `runtime` executes it
  GraphTotals totals;
  GraphStructure structure;
  std::vector<TypeSummary> types;
  std::vector<StudiedSymbol> symbols = {};  // what depends on the model's dynamic dimensions
  std::string runtime = {};                 // its name; "" = the file's own operators
  std::vector<std::string> passes = {};     // of the runtime that changed something
};

// Errors: those of the model and the runtime; kInvalidInput: a TensorFlow model to be saved; the
// file cannot be written. Unresolved operators are not an error, even under options.model.strict.
StatusOr<Inspection> inspect(const InspectOptions& options, const Progress& progress = {});

}  // namespace dfsim::inline study
