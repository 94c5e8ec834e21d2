// The first steps of a prediction: a model file becomes the graph that a runtime executes, and the
// tasks of that graph.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/import.h"
#include "graphs/ops/totals.h"
#include "hardware/platform.h"
#include "opmodel/workload.h"
#include "study/chain/execution.h"
#include "study/chain/training_choice.h"
#include "study/chain/unknown_work.h"

namespace dfsim::inline study {

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
  std::string precision;                  // a name or a file of rules; "" = as the file has it
  int64_t pad_vocabulary = 0;             // over 0: vocabularies are padded to multiples of it
  bool static_dims = false;               // the user's file has numbers for all dimensions
  bool allow_incomplete = false;          // lower limits of a part of the model are welcome

  StatusOr<ImportOptions> import_options() const;
};

struct LoadedModel {
  std::string path;  // as given
  std::string name;  // the file's name without folder and extension
  size_t imported_ops = 0;
  ImportReport report;
  GraphTotals totals;               // of the graph as imported
  size_t source_ops = 0;            // with the trips of loops side by side
  size_t pruned_ops = 0;            // operators that are neither folded ahead of time nor dead
  UnknownWork unknown;              // of the executed graph
  Graph executed;                   // as the runtime rewrites it
  std::vector<std::string> passes;  // of the runtime that changed something, each once
  Workload workload;
  // Dimensions that the runtime doesn't know when it optimises the graph; empty when it knows all.
  std::vector<std::string> open_dims;
  std::vector<bool> unsized;  // OpenDims::unsized() of `executed`
  bool is_training = false;   // `executed` and `workload` are those of a training step
  std::string precision;      // that was asked for and applied; "" = as the file has it
  bool autocast = false;      // the precision is a mixed one
};

// Imports, adds up, rewrites as the precision and the platform's runtime do, makes the graph of a
// training step where one is asked for, and lowers. Under `strict` an op that stays unresolved is
// an error. Errors of precisions: those of resolve_precision() and check_trains(); a
// model whose weights are of several types; a quantised training step.
StatusOr<LoadedModel> load_model(const ModelOptions& options, const TrainingChoice& training,
                                 const Platform& platform);

// The same of an import, which may serve several machines and choices; `options` are those that it
// was made with. Platforms with the same runtime and kind of device give the same, but for a
// quantised config.json and for NPUs, whose units decide.
StatusOr<LoadedModel> load_imported(const ImportedModel& imported, const ModelOptions& options,
                                    const TrainingChoice& training, const Platform& platform);

// The forward pass that a training step is made of, or inference: load_model() without the step.
StatusOr<LoadedModel> load_forward(const ModelOptions& options, const TrainingChoice& training,
                                   const Platform& platform);

// The import alone, for commands that need no lowering: ONNX or TensorFlow, by the file's content.
StatusOr<ImportedModel> import_model(const ModelOptions& options);
// The same with other import options than those that `options` gives.
StatusOr<ImportedModel> import_model_with(const ModelOptions& options,
                                          const ImportOptions& import_options);

std::string model_name(const std::string& path);

// Names of the dimensions that are open in the file, in order of first use; none under `options`'
// static_dims and for runtimes that see every extent.
std::vector<std::string> open_dims_for(const ImportedModel& imported, const ModelOptions& options,
                                       const RuntimeSpec& runtime);

// The ONNX file of a measured network, NAME.onnx, in the first of the folders that has it; "" =
// among the networks that ship. Error: kNotFound.
StatusOr<std::string> find_network(const std::string& name, std::vector<std::string> folders);

}  // namespace dfsim::inline study
