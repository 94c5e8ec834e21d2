// Options and reports that importers of every format share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

struct ImportOptions {
  // Value of the batch dimension: of symbols that are named like one, else of axis 0 of the inputs.
  std::optional<int64_t> batch = {};
  std::map<std::string, int64_t> dims = {};                       // symbol -> extent
  std::map<std::string, std::vector<int64_t>> input_shapes = {};  // input -> whole shape
  // Instead of the values usually assumed for symbols without any value.
  std::map<std::string, int64_t> assumed_extents = {};
  std::map<std::string, int64_t> trip_counts = {};  // Loop's name -> how often it runs
  std::optional<bool> branch = {};                  // of Ifs with an unknown condition: then?
  // Where neither a rule nor a library finds a shape, believe the one that the file declares.
  bool use_declared_shapes = true;
};

// A dimension that had no number in the file, and where its number comes from.
struct BoundDim {
  std::string name;
  int64_t extent = 0;
  std::string origin;  // "given", "model's default", "assumed", "derived" (from other dimensions)
};

// An axis of an input without a number in the file; axes of one name have the same extent.
struct OpenAxis {
  std::string input;
  int axis = 0;
  std::string name;
};

// The axes of a tensor inside the graph as the file declares them: a name, "" for a number, nothing
// where it says nothing.
struct DeclaredAxes {
  std::string tensor;
  std::vector<std::optional<std::string>> axes;
};

struct UnresolvedOpInfo {
  std::string name;
  std::string op_type;
  std::string reason;
  // The extents of its results that depend on data, by the names that --dim takes; empty where no
  // name exists.
  std::vector<std::string> extents = {};
};

// The types of a language model's config.json.
struct ConfigTypes {
  DType dtype = DType::kUnknown;  // torch_dtype, bf16 or fp16: of all that is not quantised
  std::string weights;            // quantization_config's format: fp8, mxfp4, int4, ...; "" = none
  bool attention = false;         // whether these weights have that format
  bool mlp = false;
  bool experts = false;
};

struct ImportReport {
  int64_t file_nodes = 0;  // nodes in the file, constants included
  int64_t batch = 1;
  std::vector<BoundDim> dims;
  std::vector<OpenAxis> open_axes;          // in the file, whatever the options say
  std::vector<DeclaredAxes> declared_axes;  // only where an axis is open; sorted by tensor
  std::vector<UnresolvedOpInfo> unresolved;
  // Loops with products or convolutions of which one trip is costed, as nothing tells their number.
  std::vector<std::string> uncounted_loops;
  std::optional<ConfigTypes> config;  // of a config.json
  std::vector<std::string> notes;     // what the user should know, one line each
};

struct ImportedModel {
  Graph graph;
  ImportReport report;
};

}  // namespace dfsim::inline graphs
