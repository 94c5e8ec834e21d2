// Forest: the trees of a saved XGBoost model, laid out for prediction.
//
// Purpose: XGBoost takes 20-80 ms to read a model of a few MB and 20 ms to predict 500 rows, which
//   is more than the rest of `dfsim predict`. A Forest reads the same UBJ bytes, or the compact
//   layout of the models that ship (tree_file.h), in about a millisecond per MB and walks several
//   rows through a tree at once. It gives the same sums as the library, bit for bit (same order of
//   additions in float).
// Invariants: every node reached from a root is a leaf or has both children inside the forest.
// Errors: those of read_trees().
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline opmodel {

class Forest {
 public:
  // `place` names the file in messages. O(bytes).
  static StatusOr<Forest> parse(std::string_view bytes, std::string_view place);

  // out[i] = prediction of row i; |values| == |out| * columns(); NaN = missing. Thread-safe.
  // O(rows * trees * depth), about 2 ns a step.
  void predict(std::span<const float> values, std::span<float> out) const;

  size_t columns() const { return columns_; }
  size_t trees() const { return roots_.size(); }

 private:
  // A leaf has left == its own index and a threshold nothing exceeds: rows stay there. The right
  // child is left + 1.
  struct Node {
    float threshold;
    float leaf;
    uint32_t left;
    uint16_t feature;
    uint16_t missing_left;  // rows without the feature go left
  };
  struct Root {
    uint32_t node;
    int32_t depth;
  };

  std::vector<Node> nodes_;
  std::vector<Root> roots_;
  size_t columns_ = 0;
  float base_score_ = 0;
};

}  // namespace dfsim::inline opmodel
