// A model file made ready to be costed and simulated: the steps that several commands share.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/import.h"
#include "graphs/ops/totals.h"
#include "hardware/platform.h"
#include "opmodel/workload.h"

namespace dfsim::cli {

// The options that say how dynamic dimensions are resolved.
struct ModelOptions {
  std::string path;
  int64_t batch = 0;                      // 0 = not given
  std::vector<std::string> dims;          // NAME=N
  std::vector<std::string> input_shapes;  // NAME=1,3,224,224
  std::vector<std::string> trip_counts;   // LOOP=N
  std::string branch;                     // then, else or empty
  std::string signature;                  // of a SavedModel; "" = its default
  bool strict = false;                    // unresolved ops are an error

  StatusOr<ImportOptions> import_options() const;
};

struct LoadedModel {
  std::string name;  // the file's name without folder and extension
  size_t imported_ops = 0;
  ImportReport report;
  GraphTotals totals;               // of the graph as imported
  size_t pruned_ops = 0;            // operators that are neither folded ahead of time nor dead
  Graph executed;                   // as the runtime rewrites it
  std::vector<std::string> passes;  // of the runtime that changed something, each once
  Workload workload;
};

// A graph as a runtime executes it.
struct ExecutedGraph {
  Graph graph;
  size_t pruned_ops = 0;
  std::vector<std::string> passes;
};

// Prunes and runs the runtime's passes. Error: as run_passes(), with the runtime's file.
StatusOr<ExecutedGraph> execute_as(const Graph& graph, const RuntimeSpec& runtime);

// Imports, adds up, rewrites as `runtime` does and lowers. Under `strict` an op that stays
// unresolved is an error.
StatusOr<LoadedModel> load_model(const ModelOptions& options, const RuntimeSpec& runtime);

// The import alone, for commands that need no lowering: ONNX or TensorFlow, by the file's content.
StatusOr<ImportedModel> import_model(const ModelOptions& options);
// The same with other import options than those of the command line.
StatusOr<ImportedModel> import_model_with(const ModelOptions& options,
                                          const ImportOptions& import_options);

std::string model_name(const std::string& path);

// The ONNX file of a measured network, NAME.onnx, in the first of the folders that has it; "" =
// among the networks that ship. Error: kNotFound.
StatusOr<std::string> find_network(const std::string& name, std::vector<std::string> folders);

}  // namespace dfsim::cli
