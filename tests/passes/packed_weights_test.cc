// Products with weights of few bits that the file dequantises.
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

using Types = std::vector<std::string>;

struct Scales {
  std::vector<int64_t> extents;
  int64_t block = 0;
  int64_t axis = 1;
};

// x [batch, 8, 128], of float or dequantised, times dequantised weights [128, 64], with a bias.
PassCase product(DType dtype, const Scales& scales, DType x_type = DType::kFloat32) {
  PassCase graph(21);
  graph.input("x", {2, 8, 128});
  graph.weight("w", {128, 64}, dtype);
  graph.weight("s", scales.extents);
  graph.weight("b", {64});
  PassCase::Attributes attributes = {{"axis", scales.axis}};
  if (scales.block > 0) {
    attributes.emplace_back("block_size", scales.block);
  }
  graph.op("DequantizeLinear", {"w", "s"}, "wd", attributes);
  std::string x = "x";
  if (x_type != DType::kFloat32) {
    graph.number("xs", 0.02);
    graph.integer("xz", x_type, 128);
    graph.op("QuantizeLinear", {"x", "xs", "xz"}, "xq");
    graph.op("DequantizeLinear", {"xq", "xs", "xz"}, "xd");
    x = "xd";
  }
  graph.op("MatMul", {x, "wd"}, "m");
  graph.op("Add", {"m", "b"}, "y");
  graph.output("y");
  return graph;
}

TEST_CASE("packed-weights: one operator per product, with its bias, in blocks of the scales") {
  PassCase graph = product(DType::kInt4, {{2, 64}, 64, 0});
  const Graph& result = graph.after({"packed-weights"});
  REQUIRE(result.ops().size() == 1);
  const Op& packed = result.op(OpId(0));
  CHECK(packed.op_type == "MatMulNBits");
  REQUIRE(packed.inputs.size() == 6);
  CHECK(result.tensor(packed.inputs[1]).shape == Shape({Dim(64), Dim(2), Dim(32)}));
  CHECK(result.tensor(packed.inputs[5]).name == "b");
  CHECK(packed.attributes.int_or("bits", 0) == 4);
  CHECK(packed.attributes.int_or("block_size", 0) == 64);
  CHECK(packed.attributes.int_or("accuracy_level", 0) == 4);
  CHECK(op_work(result, OpId(0))->macs == 16 * 128 * 64);
}

TEST_CASE("packed-weights: takes scales per column and for all, of 4 and 8 bits") {
  const Types packed = {"com.microsoft.MatMulNBits"};
  for (const DType dtype : {DType::kInt4, DType::kUInt4, DType::kInt8, DType::kUInt8}) {
    CHECK(product(dtype, {{64}}).types_after({"packed-weights"}) == packed);
    CHECK(product(dtype, {{}}).types_after({"packed-weights"}) == packed);
  }
  const Types kept = {"DequantizeLinear", "MatMul", "Add"};
  CHECK(product(DType::kInt16, {{64}}).types_after({"packed-weights"}) == kept);
  CHECK(product(DType::kInt8, {{128}, 0, 0}).types_after({"packed-weights"}) == kept);
  CHECK(product(DType::kInt4, {{16, 64}, 8, 0}).types_after({"packed-weights"}) == kept);
  CHECK(product(DType::kInt4, {{128, 2}, 32, 1}).types_after({"packed-weights"}) == kept);
}

TEST_CASE("packed-weights: a product of bytes is left to qdq") {
  const Types types = product(DType::kInt8, {{64}}, DType::kUInt8).types_after({"packed-weights"});
  CHECK(types == Types{"DequantizeLinear", "QuantizeLinear", "DequantizeLinear", "MatMul", "Add"});
}

TEST_CASE("packed-weights: takes activations of 16 bits as they come dequantised") {
  for (const DType dtype : {DType::kInt4, DType::kInt8}) {
    CHECK(product(dtype, {{64}}, DType::kUInt16).types_after({"packed-weights"}) ==
          Types{"QuantizeLinear", "DequantizeLinear", "com.microsoft.MatMulNBits"});
  }
}

TEST_CASE("packed-weights: weights that two products share stay dequantised") {
  PassCase graph = product(DType::kInt8, {{64}});
  graph.op("MatMul", {"x", "wd"}, "n");
  graph.output("n");
  CHECK(graph.types_after({"packed-weights"}).size() == 4);
}

TEST_CASE("packed-bias: MatMulNBits takes a bias of its columns") {
  for (const int64_t extent : {32, 1}) {
    PassCase graph;
    graph.input("x", {2, 64});
    graph.weight("w", {32, 2, 16}, DType::kUInt8);
    graph.weight("scales", {32, 2});
    graph.weight("bias", {extent});
    graph.op("com.microsoft.MatMulNBits", {"x", "w", "scales"}, "m",
             {{"K", int64_t{64}},
              {"N", int64_t{32}},
              {"bits", int64_t{4}},
              {"block_size", int64_t{32}}});
    graph.op("Add", {"bias", "m"}, "y");
    graph.output("y");
    const Graph& after = graph.after({"packed-bias"});
    CHECK(after.op_count() == (extent == 32 ? 1 : 2));
    if (extent == 32) {
      CHECK(after.tensor(after.op(OpId(0)).inputs.at(5)).name == "bias");
    }
  }
}

}  // namespace
}  // namespace dfsim
