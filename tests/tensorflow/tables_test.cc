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

std::vector<Case> layer_cases() {
  const std::string x = placeholder("x", {10, 4});
  const std::string ids = placeholder("ids", {10}, "DT_INT32");
  const std::string sparse = placeholder("at", {20, 2}, "DT_INT64") + placeholder("v", {20});
  const std::string logits = placeholder("l", {50, 2, 30});
  const auto y = [](const std::string& op, const std::vector<std::string>& inputs,
                    const std::string& attributes = "") {
    return node("y", op, inputs, attributes);
  };
  return {
      {"LSTMBlockCell",
       x + placeholder("s", {10, 6}) + weight("w", {10, 24}) + weight("p", {6}) +
           weight("b", {24}) + y("LSTMBlockCell", {"x", "s", "s", "w", "p", "p", "p", "b"}),
       {"10x6", "10x6", "10x6", "10x6", "10x6", "10x6", "10x6"}},
      {"GRUBlockCell",
       x + placeholder("s", {10, 6}) + weight("g", {10, 12}) + weight("c", {10, 6}) +
           weight("b", {12}) + weight("d", {6}) + y("GRUBlockCell", {"x", "s", "g", "c", "b", "d"}),
       {"10x6", "10x6", "10x6", "10x6"}},
      {"CTCLoss", logits + sparse + ids + y("CTCLoss", {"l", "at", "v", "ids"}), {"2", "50x2x30"}},
      {"CTCGreedyDecoder",
       logits + ids + y("CTCGreedyDecoder", {"l", "ids"}),
       {"100x2", "100", "2", "2x1"},
       true},
      {"CTCBeamSearchDecoder",
       logits + ids + y("CTCBeamSearchDecoder", {"l", "ids"}, attr("top_paths", "i: 2")),
       {"100x2", "100x2", "100", "100", "2", "2", "2x2"},
       true},
      {"RaggedTensorToTensor",
       x + ints("s", {-1, 7, 4}) + weight("d", {}) + placeholder("r", {6}, "DT_INT64") +
           y("RaggedTensorToTensor", {"s", "x", "d", "r"}),
       {"5x7x4"}},
      {"RaggedTensorToTensor of open rows",
       x + ints("s", {-1, -1, -1}) + weight("d", {}) + placeholder("r", {6}, "DT_INT64") +
           y("RaggedTensorToTensor", {"s", "x", "d", "r"}),
       {"5x10x4"},
       true},
      {"RaggedTensorToSparse",
       placeholder("v", {20}) + placeholder("r", {6}, "DT_INT64") +
           y("RaggedTensorToSparse", {"r", "v"}),
       {"20x2", "20", "2"}},
      {"RaggedBincount",
       placeholder("v", {20}, "DT_INT32") + placeholder("r", {6}, "DT_INT64") + integer("n", 9) +
           weight("w", {0}) + y("RaggedBincount", {"r", "v", "n", "w"}),
       {"5x9"}},
      {"DecodePaddedRaw",
       placeholder("t", {4}, "DT_STRING") + integer("n", 12) +
           y("DecodePaddedRaw", {"t", "n"}, attr("out_type", "type: DT_INT16")),
       {"4x6"}},
      {"DecodeBase64", placeholder("t", {4, 2}, "DT_STRING") + y("DecodeBase64", {"t"}), {"4x2"}},
  };
}

std::vector<Case> quantized_cases() {
  const std::string x = placeholder("x", {10, 4});
  const std::string range = placeholder("lo", {}) + placeholder("hi", {});
  const auto y = [](const std::string& op, const std::vector<std::string>& inputs,
                    const std::string& attributes = "") {
    return node("y", op, inputs, attributes);
  };
  return {
      {"QuantizeV2", x + range + y("QuantizeV2", {"x", "lo", "hi"}), {"10x4", "scalar", "scalar"}},
      {"Dequantize",
       placeholder("q", {10, 4}, "DT_QUINT8") + range + y("Dequantize", {"q", "lo", "hi"}),
       {"10x4"}},
      {"RequantizationRange",
       placeholder("q", {10, 4}, "DT_QINT32") + range + y("RequantizationRange", {"q", "lo", "hi"}),
       {"scalar", "scalar"}},
      {"Requantize",
       placeholder("q", {10, 4}, "DT_QINT32") + range +
           y("Requantize", {"q", "lo", "hi", "lo", "hi"}),
       {"10x4", "scalar", "scalar"}},
      {"QuantizedConv2D",
       placeholder("q", {2, 8, 8, 3}, "DT_QUINT8") + placeholder("f", {3, 3, 3, 16}, "DT_QINT8") +
           range +
           y("QuantizedConv2D", {"q", "f", "lo", "hi", "lo", "hi"},
             attr("strides", int_list({1, 2, 2, 1})) + attr("padding", "s: \"SAME\"")),
       {"2x4x4x16", "scalar", "scalar"}},
      {"QuantizedMatMul",
       placeholder("q", {10, 4}, "DT_QUINT8") + placeholder("f", {6, 4}, "DT_QINT8") + range +
           y("QuantizedMatMul", {"q", "f", "lo", "hi", "lo", "hi"}, attr("transpose_b", "b: true")),
       {"10x6", "scalar", "scalar"}},
  };
}

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
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

TEST_CASE("TensorFlow tables: outputs have the shapes of the documentation") { check(cases()); }

TEST_CASE("TensorFlow cells, CTC, ragged tensors: outputs have the shapes of the documentation") {
  check(layer_cases());
}

TEST_CASE("TensorFlow quantised: outputs have the shapes of the documentation") {
  check(quantized_cases());
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

int64_t macs_of(const std::string& graph) {
  const auto model = import_text(graph);
  INFO(model.status().message());
  REQUIRE(model.ok());
  return graph_totals(model->graph)->macs;
}

TEST_CASE("Recurrent cells: every row of the batch meets all weights") {
  const std::string inputs = placeholder("x", {10, 4}) + placeholder("s", {10, 6});
  CHECK(macs_of(inputs + weight("w", {10, 24}) + weight("p", {6}) + weight("b", {24}) +
                node("y", "LSTMBlockCell", {"x", "s", "s", "w", "p", "p", "p", "b"})) ==
        10 * 10 * 24);
  CHECK(macs_of(inputs + weight("g", {10, 12}) + weight("c", {10, 6}) + weight("b", {12}) +
                weight("d", {6}) + node("y", "GRUBlockCell", {"x", "s", "g", "c", "b", "d"})) ==
        10 * 10 * (12 + 6));
}

TEST_CASE("CTC: beams meet every class, losses every place between labels") {
  const std::string inputs = placeholder("l", {50, 2, 30}) + placeholder("n", {2}, "DT_INT32") +
                             placeholder("at", {20, 2}, "DT_INT64") +
                             placeholder("v", {20}, "DT_INT32");
  const auto flops = [&](const std::string& y) {
    const auto model = import_text(inputs + y);
    REQUIRE(model.ok());
    return graph_totals(model->graph)->flops;
  };
  CHECK(flops(node("y", "CTCBeamSearchDecoder", {"l", "n"}, attr("beam_width", "i: 8"))) ==
        50 * 2 * 30 * 8 * 10);
  CHECK(flops(node("y", "CTCGreedyDecoder", {"l", "n"})) == 50 * 2 * 30);
  CHECK(flops(node("y", "CTCLoss", {"l", "at", "v", "n"})) ==
        50 * 2 * 30 * 5 + 50 * (2 * 20 + 2) * 12);
}

TEST_CASE("Quantised products: count the multiply-adds of the products in floats") {
  const std::string range = placeholder("lo", {}) + placeholder("hi", {});
  CHECK(macs_of(placeholder("q", {10, 4}, "DT_QUINT8") + placeholder("f", {4, 6}, "DT_QINT8") +
                range + node("y", "QuantizedMatMul", {"q", "f", "lo", "hi", "lo", "hi"})) ==
        10 * 4 * 6);
  CHECK(macs_of(placeholder("q", {2, 8, 8, 3}, "DT_QUINT8") +
                placeholder("f", {3, 3, 3, 16}, "DT_QINT8") + range +
                node("y", "QuantizedConv2D", {"q", "f", "lo", "hi", "lo", "hi"},
                     attr("strides", int_list({1, 2, 2, 1})) + attr("padding", "s: \"SAME\""))) ==
        2 * 4 * 4 * 16 * 3 * 3 * 3);
}

TEST_CASE("Files in tensors: a decoded image is an input of the model") {
  for (const char* op : {"DecodeJpeg", "DecodePng", "DecodeImage", "DecodeBmp", "DecodeGif"}) {
    INFO(op);
    const auto model = import_text(
        placeholder("file", {}, "DT_STRING") + node("y", op, {"file"}) + node("z", "Relu", {"y"}),
        {.input_shapes = {{"y", {224, 200, 3}}}});
    INFO(model.status().message());
    REQUIRE(model.ok());
    CHECK(output_shape(model->graph) == "224x200x3");
    CHECK(model->report.unresolved.empty());
  }
}

TEST_CASE("Files in tensors: the reason says why the shape is not known, and what to do") {
  const auto reason = [](const std::string& op) {
    const auto model = import_text(placeholder("file", {}, "DT_STRING") + node("y", op, {"file"}) +
                                   node("z", "Relu", {"y"}));
    INFO(model.status().message());
    REQUIRE(model.ok());
    REQUIRE_FALSE(model->report.unresolved.empty());
    return model->report.unresolved[0].reason;
  };
  CHECK(reason("DecodeRaw").find("the length of its bytes") == 0);
  CHECK(reason("RaggedRange").find("the number of its values") == 0);
  CHECK(reason("XlaCallModule").find("it holds StableHLO bytecode") == 0);
}

}  // namespace
}  // namespace dfsim
