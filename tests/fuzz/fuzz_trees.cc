// libFuzzer target of trees in files: no input may crash, hang or grow memory, and trees that are
// accepted survive both layouts and predict.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "opmodel/trees/compact_trees.h"
#include "opmodel/trees/forest.h"
#include "opmodel/trees/tree_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto trees = dfsim::read_trees(bytes, "fuzz");
  if (!trees.ok()) {
    return 0;
  }
  const std::string compact = dfsim::compact_trees(*trees);
  const auto again = dfsim::read_trees(compact, "compact");
  const auto foreign = dfsim::read_trees(dfsim::xgboost_trees(*trees), "xgboost");
  if (!again.ok() || !foreign.ok() || dfsim::compact_trees(*again) != compact ||
      foreign->features != trees->features || foreign->nodes != trees->nodes) {
    std::abort();
  }
  const auto forest = dfsim::Forest::parse(compact, "compact");
  if (!forest.ok() || forest->trees() != trees->nodes.size()) {
    std::abort();
  }
  const std::vector<float> rows(9 * forest->columns(), 0.5F);
  std::vector<float> out(9);
  forest->predict(rows, out);
  return 0;
}
