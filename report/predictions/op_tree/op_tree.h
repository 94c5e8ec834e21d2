// Operators that take most of the time as a tree of the model's modules.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "study/prediction/prediction.h"

namespace dfsim::inline report {

// A row of the tree: a module with all that it holds, or one operator.
struct OpTreeRow {
  size_t depth = 0;
  std::string label;                // the path below the module above: "layer3/0", "conv1/Conv"
  const PredictedOp* op = nullptr;  // the first of alike ones; null for a module and for the rest
  size_t ops = 1;                   // of the module, or alike ones
  TimeNs time_ns = 0;               // of all of them
};

// The `count` operators that take longest, below the modules that their names tell
// ("/layer3/layer3.0/conv1/Conv", "encoder.layer.0.dense"). A module has a row when it holds
// several of them; paths without a fork are one label. Modules and operators whose names differ in
// a number and that hold the same work have one row: "layer.{0..11} (12 alike, 204 operators)", and
// below it "output/dense/MatMul (12x)", which count as one of the `count`. Rows of one level are in
// order of time, and the last row sums up the operators that no other row counts, if there are any.
// Without `modules` the rows are operators with their whole names. O(text of the names * log).
std::vector<OpTreeRow> op_tree(const std::vector<PredictedOp>& ops, size_t count,
                               bool modules = true);

// "layer3.0/conv1/Conv + Relu": a path and what was fused into the operator.
std::string fused_label(const PredictedOp& op, const std::string& path);

}  // namespace dfsim::inline report
