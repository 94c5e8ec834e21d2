// Segments, sparse matrices, counts, lookups, complex numbers and factorisations: shapes as
// TensorFlow's documentation gives them, work counted by hand.
#include <catch2/catch.hpp>
#include <vector>

#include "graphs/ops/totals.h"
#include "graphs/tensorflow/importer.h"
#include "tests/tensorflow/text_graph.h"

namespace dfsim {
namespace {

struct Case {
  std::string op;
  std::string graph;  // defines node "y"
  std::vector<std::string> shapes;
  bool at_most = false;  // output 0
};

std::vector<Case> cases() {
  const std::string x = placeholder("x", {10, 4});
  const std::string ids = placeholder("ids", {10}, "DT_INT32");
  const std::string sparse = placeholder("at", {20, 2}, "DT_INT64") + placeholder("v", {20});
  const auto y = [](const std::string& op, const std::vector<std::string>& inputs,
                    const std::string& attributes = "") {
    return node("y", op, inputs, attributes);
  };
  return {
      {"SegmentSum", x + ids + y("SegmentSum", {"x", "ids"}), {"10x4"}, true},
      {"SegmentMean",
       x + ints("s", {0, 0, 0, 0, 1, 1, 2, 2, 2, 2}) + y("SegmentMean", {"x", "s"}),
       {"3x4"}},
      {"UnsortedSegmentMax",
       x + ids + integer("n", 6) + y("UnsortedSegmentMax", {"x", "ids", "n"}),
       {"6x4"}},
      {"SparseSegmentSumWithNumSegments",
       x + ids + integer("n", 3) + y("SparseSegmentSumWithNumSegments", {"x", "ids", "ids", "n"}),
       {"3x4"}},
      {"DynamicPartition",
       x + ids + y("DynamicPartition", {"x", "ids"}, attr("num_partitions", "i: 2")),
       {"10x4", "10x4"},
       true},
      {"DynamicPartition of known rows",
       x + ints("p", {0, 1, 1, 1, 1, 1, 1, 0, 1, 1}) +
           y("DynamicPartition", {"x", "p"}, attr("num_partitions", "i: 2")),
       {"2x4", "8x4"}},
      {"DynamicStitch",
       x + ints("a", {0, 2, 4, 6, 8, 10, 12, 14, 16, 18}) + y("DynamicStitch", {"a", "x"}),
       {"19x4"}},
      {"DenseBincount",
       placeholder("i", {3, 50}, "DT_INT32") + integer("n", 12) + weight("w", {0}) +
           y("DenseBincount", {"i", "n", "w"}),
       {"3x12"}},
      {"SparseTensorDenseMatMul",
       sparse + ints("s", {40, 10}) + x + y("SparseTensorDenseMatMul", {"at", "v", "s", "x"}),
       {"40x4"}},
      {"SparseToDense",
       sparse + ints("s", {6, 7}) + weight("d", {}) + y("SparseToDense", {"at", "s", "v", "d"}),
       {"6x7"}},
      {"SparseReshape",
       sparse + ints("s", {6, 8}) + ints("t", {4, 3, -1}) + y("SparseReshape", {"at", "s", "t"}),
       {"20x3", "3"}},
      {"SparseFillEmptyRows",
       sparse + ints("s", {6, 8}) + weight("d", {}) +
           y("SparseFillEmptyRows", {"at", "v", "s", "d"}),
       {"26x2", "26", "6", "20"},
       true},
      {"LookupTableFindV2",
       node("t", "HashTableV2", {}) + ids + integer("d", 0) +
           y("LookupTableFindV2", {"t", "ids", "d"}),
       {"10"}},
      {"Complex", x + placeholder("z", {1, 4}) + y("Complex", {"x", "z"}), {"10x4"}},
      {"ScaleAndTranslate",
       placeholder("i", {2, 8, 8, 3}) + ints("s", {5, 6}) + weight("c", {2}) +
           y("ScaleAndTranslate", {"i", "s", "c", "c"}),
       {"2x5x6x3"}},
      {"Qr", placeholder("m", {2, 6, 4}) + y("Qr", {"m"}), {"2x6x4", "2x4x4"}},
      {"Svd", placeholder("m", {2, 6, 4}) + y("Svd", {"m"}), {"2x4", "2x6x4", "2x4x4"}},
      {"LogMatrixDeterminant",
       placeholder("m", {2, 5, 5}) + y("LogMatrixDeterminant", {"m"}),
       {"2", "2"}},
      {"Multinomial", x + integer("n", 6) + y("Multinomial", {"x", "n"}), {"10x6"}},
  };
}

TEST_CASE("TensorFlow tables: outputs have the shapes of the documentation") {
  for (const Case& c : cases()) {
    INFO(c.op);
    std::string text = c.graph;
    for (size_t i = 0; i < c.shapes.size(); ++i) {
      text += node(fmt::format("out{}", i), "Identity", {fmt::format("y:{}", i)});
    }
    const auto model = import_text(text);
    INFO(model.status().message());
    REQUIRE(model.ok());
    REQUIRE(model->report.unresolved.empty());
    REQUIRE(model->graph.outputs().size() == c.shapes.size());
    for (size_t i = 0; i < c.shapes.size(); ++i) {
      CHECK(output_shape(model->graph, i) == c.shapes[i]);
    }
    CHECK(model->graph.tensor(model->graph.outputs()[0]).data_dependent == c.at_most);
  }
}

TEST_CASE("InvertPermutation: the axes of a transposition are folded") {
  const auto model =
      import_text(placeholder("x", {2, 3, 4}) + ints("p", {2, 0, 1}) +
                  node("q", "InvertPermutation", {"p"}) + node("y", "Transpose", {"x", "q"}));
  REQUIRE(model.ok());
  CHECK(output_shape(model->graph) == "3x4x2");
  CHECK_FALSE(import_text(placeholder("x", {2, 3}) + ints("p", {1, 1}) +
                          node("q", "InvertPermutation", {"p"}) +
                          node("y", "Transpose", {"x", "q"}))
                  .ok());
}

TEST_CASE("Sparse products: each element meets a row of the dense matrix") {
  const auto model = import_text(placeholder("at", {20, 2}, "DT_INT64") + placeholder("v", {20}) +
                                 ints("s", {40, 10}) + placeholder("b", {10, 4}) +
                                 node("y", "SparseTensorDenseMatMul", {"at", "v", "s", "b"}));
  REQUIRE(model.ok());
  CHECK(graph_totals(model->graph)->macs == 20 * 4);
}

TEST_CASE("Sparse segments: only the rows that indices name are read") {
  const auto model = import_text(
      weight("table", {1000000, 16}) + placeholder("i", {12}, "DT_INT32") +
      placeholder("s", {12}, "DT_INT32") + node("y", "SparseSegmentMean", {"table", "i", "s"}));
  REQUIRE(model.ok());
  const auto totals = graph_totals(model->graph);
  REQUIRE(totals.ok());
  CHECK(totals->flops == 12 * 16);
  CHECK(totals->work.front().bytes_read == 12 * 16 * 4 + 2 * 12 * 4);
}

}  // namespace
}  // namespace dfsim
