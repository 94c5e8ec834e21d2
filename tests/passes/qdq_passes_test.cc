// Quantised graphs: what ONNX Runtime makes of operators between DequantizeLinear and
// QuantizeLinear.
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

const PassCase::Attributes kQdqPad = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};

// A graph with a scale, zero points of 128 and 0, and helpers that write pairs of Q and DQ.
class QuantizedCase : public PassCase {
 public:
  QuantizedCase() {
    number("s", 0.02);
    integer("z128", DType::kUInt8, 128);
    integer("z0", DType::kUInt8, 0);
    integer("wz", DType::kInt8, 0);
    integer("bz", DType::kInt32, 0);
  }
  // `from` quantised and dequantised is `from`_dq.
  void pair(const std::string& from, const std::string& zero = "z128") {
    op("QuantizeLinear", {from, "s", zero}, from + "_q");
    op("DequantizeLinear", {from + "_q", "s", zero}, from + "_dq");
  }
  void quantized_weight(const std::string& name, const std::vector<int64_t>& extents,
                        bool bias = false) {
    weight(name, extents, bias ? DType::kInt32 : DType::kInt8);
    op("DequantizeLinear", {name, "s", bias ? "bz" : "wz"}, name + "_dq");
  }
};

TEST_CASE("qdq: merges convolution, bias and a Relu that the zero point makes redundant") {
  for (const std::string zero : {"z0", "z128"}) {
    QuantizedCase graph;
    graph.input("x", {1, 16, 8, 8});
    graph.quantized_weight("w", {32, 16, 3, 3});
    graph.quantized_weight("b", {32}, true);
    graph.pair("x");
    graph.op("Conv", {"x_dq", "w_dq", "b_dq"}, "c", kQdqPad);
    graph.op("Relu", {"c"}, "r");
    graph.pair("r", zero);
    graph.output("r_dq");
    INFO(zero);
    if (zero == "z0") {
      CHECK(graph.types_after({"qdq"}) ==
            Types{"QuantizeLinear", "QLinearConv", "DequantizeLinear"});
    } else {  // what is below 0 could be represented: the Relu stays, in float
      const Types types = graph.types_after({"qdq"});
      CHECK(std::count(types.begin(), types.end(), "Relu") == 1);
      CHECK(std::count(types.begin(), types.end(), "QLinearConv") == 0);
    }
  }
}

TEST_CASE("qdq: drops a Clip if the range of 8 bits is narrower") {
  for (const double upper : {6.0, 4.0}) {  // 255 x 0.02 = 5.1
    QuantizedCase graph;
    graph.input("x", {1, 16, 8, 8});
    graph.quantized_weight("w", {32, 16, 1, 1});
    graph.number("low", 0);
    graph.number("high", upper);
    graph.pair("x");
    graph.op("Conv", {"x_dq", "w_dq"}, "c");
    graph.op("Clip", {"c", "low", "high"}, "r");
    graph.pair("r", "z0");
    graph.output("r_dq");
    const Types types = graph.types_after({"qdq"});
    CHECK(std::count(types.begin(), types.end(), "QLinearConv") == (upper == 6.0 ? 1 : 0));
  }
}

TEST_CASE("qdq: fuses products with and without a quantised result") {
  QuantizedCase graph;
  graph.input("x", {4, 16});
  graph.quantized_weight("w", {16, 16});
  graph.quantized_weight("v", {16, 16});
  graph.quantized_weight("b", {16}, true);
  graph.pair("x");
  graph.op("MatMul", {"x_dq", "w_dq"}, "m");
  graph.pair("m");
  graph.op("Gemm", {"m_dq", "v_dq", "b_dq"}, "g");
  graph.pair("g");
  graph.op("MatMul", {"g_dq", "w_dq"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"qdq"}) == Types{"QuantizeLinear", "QLinearMatMul",
                                            "com.microsoft.QGemm",
                                            "com.microsoft.MatMulIntegerToFloat"});
}

TEST_CASE("qdq: a Gemm whose bias has 8 bits stays in float") {
  QuantizedCase graph;
  graph.input("x", {4, 16});
  graph.quantized_weight("w", {16, 16});
  graph.quantized_weight("b", {16});
  graph.pair("x");
  graph.op("Gemm", {"x_dq", "w_dq", "b_dq"}, "y");
  graph.output("y");
  const Types types = graph.types_after({"qdq"});
  CHECK(std::count(types.begin(), types.end(), "Gemm") == 1);
}

TEST_CASE("qdq: products and sums of 4 and 16 bits stay in float, movers take them") {
  QuantizedCase graph;
  graph.integer("z16", DType::kUInt16, 30000);
  graph.integer("z4", DType::kInt4, 0);
  graph.input("x", {4, 16});
  graph.weight("w", {16, 16}, DType::kInt4);
  graph.op("DequantizeLinear", {"w", "s", "z4"}, "w_dq");
  graph.pair("x");
  graph.op("MatMul", {"x_dq", "w_dq"}, "m");
  graph.pair("m", "z16");
  graph.op("Transpose", {"m_dq"}, "t");
  graph.pair("t", "z16");
  graph.op("Add", {"t_dq", "t_dq"}, "y");
  graph.pair("y", "z16");
  graph.output("y_dq");
  const Types types = graph.types_after({"qdq"});
  const auto count = [&](const char* type) { return std::count(types.begin(), types.end(), type); };
  CHECK(count("MatMul") == 1);
  CHECK(count("Transpose") == 1);
  CHECK(count("Add") == 1);
  CHECK(count("QuantizeLinear") == 3);    // of x, m and y
  CHECK(count("DequantizeLinear") == 5);  // of x, w, t twice and y
}

TEST_CASE("qdq-domain: com.microsoft's pairs are fused as those of ONNX") {
  const auto types_after = [](const std::vector<std::string>& passes) {
    QuantizedCase graph;
    graph.input("x", {4, 16});
    graph.weight("w", {16, 16}, DType::kInt8);
    graph.op("com.microsoft.DequantizeLinear", {"w", "s", "wz"}, "w_dq");
    graph.op("com.microsoft.QuantizeLinear", {"x", "s", "z128"}, "x_q");
    graph.op("com.microsoft.DequantizeLinear", {"x_q", "s", "z128"}, "x_dq");
    graph.op("MatMul", {"x_dq", "w_dq"}, "m");
    graph.op("com.microsoft.QuantizeLinear", {"m", "s", "z128"}, "y");
    graph.output("y");
    return graph.types_after(passes);
  };
  CHECK(types_after({"qdq"}).size() == 5);
  CHECK(types_after({"qdq-domain", "qdq"}) == Types{"QuantizeLinear", "QLinearMatMul"});
}

TEST_CASE("qdq: moves values unchanged unless scale or zero point change") {
  for (const std::string zero : {"z128", "z0"}) {
    QuantizedCase graph;
    graph.input("x", {4, 16});
    graph.ints("shape", {16, 4});
    graph.pair("x");
    graph.op("Reshape", {"x_dq", "shape"}, "r");
    graph.pair("r", zero);
    graph.output("r_dq");
    const Types types = graph.types_after({"qdq"});
    CHECK(std::count(types.begin(), types.end(), "QuantizeLinear") == (zero == "z128" ? 1 : 2));
    CHECK(std::count(types.begin(), types.end(), "Reshape") == 1);
  }
}

TEST_CASE("qdq: gives each reader of a dequantised tensor its own DequantizeLinear") {
  QuantizedCase graph;
  graph.input("x", {4, 16});
  graph.pair("x");
  graph.op("Erf", {"x_dq"}, "a");
  graph.op("Mul", {"x_dq", "x_dq"}, "b");
  graph.output("a");
  graph.output("b");
  const Types types = graph.types_after({"qdq"});
  CHECK(std::count(types.begin(), types.end(), "QuantizeLinear") == 1);
  CHECK(std::count(types.begin(), types.end(), "DequantizeLinear") == 3);
}

TEST_CASE("qdq: each reader of a dequantised constant has its own DequantizeLinear, too") {
  QuantizedCase graph;
  graph.input("x", {16, 16});
  graph.quantized_weight("w", {16, 16});
  graph.op("MatMul", {"x", "w_dq"}, "a");
  graph.op("Relu", {"a"}, "b");
  graph.op("MatMul", {"b", "w_dq"}, "y");
  graph.output("y");
  const Types types = graph.types_after({"qdq"});
  CHECK(std::count(types.begin(), types.end(), "MatMul") == 2);
  CHECK(std::count(types.begin(), types.end(), "DequantizeLinear") == 2);
}

TEST_CASE(
    "qdq: the operators of a function share a DequantizeLinear, and its values become unsigned") {
  // HardSwish, which ONNX Runtime takes apart after each reader has got its DequantizeLinear.
  QuantizedCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.quantized_weight("w", {16, 16, 3, 3});
  graph.pair("x", "wz");
  graph.op("Conv", {"x_dq", "w_dq"}, "c", kQdqPad);
  graph.pair("c", "wz");
  graph.op("HardSwish", {"c_dq"}, "y");
  graph.output("y");
  const Types types = graph.types_after({"hard-swish", "qdq"});
  CHECK(std::count(types.begin(), types.end(), "HardSigmoid") == 1);
  CHECK(std::count(types.begin(), types.end(), "QLinearConv") == 1);
  CHECK(std::count(types.begin(), types.end(), "DequantizeLinear") == 1);
}

TEST_CASE("qdq: operators that move or choose values take quantised ones, in all results") {
  const auto types_of = [](const std::string& type, PassCase::Attributes attributes) {
    QuantizedCase graph;
    graph.input("x", {1, 16, 8, 8});
    graph.pair("x");
    graph.op(type, {"x_dq"}, "y", std::move(attributes));
    graph.pair("y");
    graph.output("y_dq");
    return graph.types_after({"qdq"});
  };
  const Types moved = {"QuantizeLinear", "DepthToSpace", "DequantizeLinear"};
  CHECK(types_of("DepthToSpace", {{"blocksize", int64_t{2}}}) == moved);
  CHECK(types_of("ReduceMax", {{"axes", std::vector<int64_t>{2, 3}}}) ==
        Types{"QuantizeLinear", "ReduceMax", "DequantizeLinear"});
  CHECK(types_of("SpaceToDepth", {{"blocksize", int64_t{2}}}).size() == 5);
}

TEST_CASE("qdq: signed activations become unsigned where one operator reads them") {
  QuantizedCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.quantized_weight("w", {16, 16, 3, 3});
  graph.pair("x", "wz");
  graph.op("Conv", {"x_dq", "w_dq"}, "c", kQdqPad);
  graph.pair("c", "wz");
  graph.output("c_dq");
  const Graph& result = graph.after({"qdq"});
  REQUIRE(result.ops().size() == 3);
  const Op& fused = result.op(OpId(1));
  CHECK(fused.op_type == "QLinearConv");
  CHECK(result.tensor(fused.inputs[0]).dtype == DType::kUInt8);
  CHECK(result.tensor(fused.inputs[3]).dtype == DType::kInt8);
  CHECK(result.constant(fused.inputs[2])->as_int(0) == 128);
  CHECK(result.tensor(fused.outputs[0]).dtype == DType::kUInt8);
}

TEST_CASE("qdq: products of signed activations stay in float, as x86 has no kernel for them") {
  QuantizedCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.quantized_weight("w", {16, 16, 3, 3});
  graph.pair("x", "wz");
  graph.op("Conv", {"x_dq", "w_dq"}, "c", kQdqPad);
  graph.pair("c", "wz");
  graph.op("Add", {"c_dq", "x_dq"}, "a");  // the second reader of x
  graph.pair("a", "wz");
  graph.output("a_dq");
  const Types types = graph.types_after({"qdq"});
  CHECK(std::count(types.begin(), types.end(), "Conv") == 1);
  // The operands of Add have different types: c is unsigned, x is signed.
  CHECK(std::count(types.begin(), types.end(), "Add") == 1);
}

TEST_CASE("qdq: a choice between bytes and a number becomes QLinearWhere") {
  for (const bool number : {true, false}) {
    QuantizedCase graph;
    graph.input("mask", {1, 8, 8}, DType::kBool);
    graph.input("x", {1, 8, 8});
    graph.number("zero", 0);
    graph.weight("fill", {8});
    graph.pair("x");
    graph.op("Where", {"mask", number ? "zero" : "fill", "x_dq"}, "y");
    graph.pair("y");
    graph.output("y_dq");
    CHECK(graph.types_after({"qdq"}) ==
          (number ? Types{"QuantizeLinear", "com.microsoft.QLinearWhere", "DequantizeLinear"}
                  : Types{"QuantizeLinear", "DequantizeLinear", "Where", "QuantizeLinear",
                          "DequantizeLinear"}));
  }
}

TEST_CASE("nhwc-int8: moves a residual block's channels last, with one Transpose at either end") {
  QuantizedCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.quantized_weight("w", {16, 16, 3, 3});
  graph.pair("x", "z0");
  graph.op("Conv", {"x_dq", "w_dq"}, "c", kQdqPad);
  graph.pair("c", "z0");
  graph.op("Conv", {"c_dq", "w_dq"}, "d", kQdqPad);
  graph.pair("d");
  graph.op("Add", {"c_dq", "d_dq"}, "a");
  graph.pair("a", "z0");
  graph.op("MaxPool", {"a_dq"}, "p", {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  graph.pair("p", "z0");
  graph.op("GlobalAveragePool", {"p_dq"}, "m");
  graph.pair("m");
  graph.output("m_dq");
  const Graph& result = graph.after({"qdq", "nhwc-int8"});
  Types types;
  for (const Op& op : result.ops()) {
    types.push_back(op.op_type);
  }
  CHECK(types == Types{"QuantizeLinear", "Transpose", "QLinearConv", "QLinearConv", "QLinearAdd",
                       "NhwcMaxPool", "QLinearGlobalAveragePool", "Transpose", "DequantizeLinear"});
  CHECK(format_shape(result.tensor(result.op(OpId(2)).outputs[0]).shape) == "1x8x8x16");
}

// Tokens between convolutions, as in a block of a transformer for images.
TEST_CASE("nhwc-int8: the file's own Transposes cancel those of channels last") {
  QuantizedCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.quantized_weight("w", {16, 16, 1, 1});
  graph.pair("x");
  graph.op("Conv", {"x_dq", "w_dq"}, "c");
  graph.pair("c");
  graph.op("Transpose", {"c_dq"}, "t", {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  graph.weight("ones", {16});
  graph.op("LayerNormalization", {"t", "ones"}, "n");
  graph.op("Transpose", {"n"}, "u", {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  graph.pair("u");
  graph.op("Conv", {"u_dq", "w_dq"}, "d");
  graph.pair("d");
  graph.output("d_dq");
  CHECK(graph.types_after({"qdq", "nhwc-int8"}) ==
        Types{"QuantizeLinear", "Transpose", "com.microsoft.QLinearConv", "DequantizeLinear",
              "LayerNormalization", "QuantizeLinear", "com.microsoft.QLinearConv", "Transpose",
              "DequantizeLinear"});
}

// The skip connection of ConvNeXt begins at a normalisation of tokens.
TEST_CASE("nhwc-int8: a sum of a convolution and quantised tokens reads channels last") {
  QuantizedCase graph;
  graph.input("t", {1, 8, 8, 16});
  graph.quantized_weight("w", {16, 16, 1, 1});
  graph.op("Exp", {"t"}, "e");
  graph.op("Transpose", {"e"}, "x", {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  graph.pair("x");
  graph.op("Conv", {"x_dq", "w_dq"}, "c");
  graph.pair("c");
  graph.op("Add", {"c_dq", "x_dq"}, "a");
  graph.pair("a");
  graph.op("Conv", {"a_dq", "w_dq"}, "d");
  graph.pair("d");
  graph.output("d_dq");
  const Types types = graph.types_after({"qdq", "nhwc-int8"});
  CHECK(std::count(types.begin(), types.end(), "com.microsoft.QLinearAdd") == 1);
  CHECK(std::count(types.begin(), types.end(), "Transpose") == 1);
}

// A sum of signed bytes stays in float; its own convolution has channels last, too.
TEST_CASE("nhwc-int8: bytes follow a Transpose that a DequantizeLinear let pass") {
  QuantizedCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.input("y", {1, 16, 8, 8});
  graph.weight("w", {16, 16, 1, 1}, DType::kInt8);
  graph.op("QuantizeLinear", {"x", "s", "z128"}, "q");
  graph.op("QLinearConv", {"q", "s", "z128", "w", "s", "wz", "s", "z128"}, "c");
  graph.op("DequantizeLinear", {"c", "s", "z128"}, "c_dq");
  graph.op("Add", {"c_dq", "y"}, "a");
  graph.op("QuantizeLinear", {"a", "s", "z128"}, "a_q");
  graph.op("QLinearConv", {"a_q", "s", "z128", "w", "s", "wz", "s", "z128"}, "d");
  graph.output("d");
  CHECK(graph.types_after({"nhwc-int8"}) ==
        Types{"QuantizeLinear", "Transpose", "com.microsoft.QLinearConv", "DequantizeLinear",
              "Transpose", "QuantizeLinear", "DequantizeLinear", "Add", "QuantizeLinear",
              "Transpose", "com.microsoft.QLinearConv", "Transpose"});
}

TEST_CASE("nhwc-int8: a mean in float between convolutions reads channels last") {
  QuantizedCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.quantized_weight("w", {16, 16, 1, 1});
  graph.pair("x");
  graph.op("Conv", {"x_dq", "w_dq"}, "c");
  graph.pair("c");
  graph.op("ReduceMean", {"c_dq"}, "m", {{"axes", std::vector<int64_t>{2, 3}}});
  graph.pair("m");
  graph.op("Conv", {"m_dq", "w_dq"}, "d");
  graph.pair("d");
  graph.output("d_dq");
  CHECK(graph.types_after({"qdq", "nhwc-int8"}) ==
        Types{"QuantizeLinear", "Transpose", "com.microsoft.QLinearConv", "DequantizeLinear",
              "ReduceMean", "QuantizeLinear", "com.microsoft.QLinearConv", "Transpose",
              "DequantizeLinear"});
}

TEST_CASE("nhwc-int8: a pool whose input has its channels in front stays as it is") {
  QuantizedCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.pair("x", "z0");
  graph.op("MaxPool", {"x_dq"}, "p", {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  graph.pair("p", "z0");
  graph.output("p_dq");
  CHECK(graph.types_after({"qdq", "nhwc-int8", "nchwc-8"}) ==
        Types{"QuantizeLinear", "MaxPool", "DequantizeLinear"});
}

TEST_CASE("qdq-parameters: a bias or weight left in float is quantised next to activations") {
  for (const bool weight_too : {false, true}) {
    QuantizedCase graph;
    graph.input("x", {1, 16, 8, 8});
    graph.weight("bias", {32});
    graph.pair("x");
    if (weight_too) {
      graph.weight("w", {32, 16, 3, 3});
    } else {
      graph.quantized_weight("w", {32, 16, 3, 3});
    }
    graph.op("Conv", {"x_dq", weight_too ? "w" : "w_dq", "bias"}, "c", kQdqPad);
    graph.pair("c");
    graph.output("c_dq");
    CHECK(graph.types_after({"qdq-parameters", "qdq"}) ==
          Types{"QuantizeLinear", "QLinearConv", "DequantizeLinear"});
  }
  // Activations in float leave everything as it is.
  QuantizedCase plain;
  plain.input("x", {1, 16, 8, 8});
  plain.weight("w", {32, 16, 1, 1});
  plain.weight("bias", {32});
  plain.op("Conv", {"x", "w", "bias"}, "y");
  plain.output("y");
  CHECK(plain.types_after({"qdq-parameters"}) == Types{"Conv"});
}

TEST_CASE("qdq-copies: a convolution whose bias is a copy of a dequantised one stays in float") {
  QuantizedCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.quantized_weight("w", {16, 16, 1, 1});
  graph.quantized_weight("b", {16}, true);
  graph.pair("x");
  graph.op("Identity", {"b_dq"}, "copy");
  graph.op("Conv", {"x_dq", "w_dq", "copy"}, "c");
  graph.pair("c");
  graph.output("c_dq");
  const Types types = graph.types_after({"qdq-copies", "no-ops", "qdq"});
  CHECK(std::count(types.begin(), types.end(), "Conv") == 1);
  CHECK(std::count(types.begin(), types.end(), "QLinearConv") == 0);
}

TEST_CASE("nhwc-int8: a Split of channels stays between convolutions") {
  QuantizedCase graph;
  graph.input("x", {1, 16, 8, 8});
  for (const std::string name : {"v", "w"}) {
    graph.weight(name, {16, name == "v" ? 16 : 8, 1, 1}, DType::kInt8);
  }
  graph.op("QuantizeLinear", {"x", "s", "z128"}, "q");
  graph.op("QLinearConv", {"q", "s", "z128", "v", "s", "wz", "s", "z128"}, "c");
  graph.split("c", {"a", "b"}, 1);
  graph.op("QLinearConv", {"a", "s", "z128", "w", "s", "wz", "s", "z128"}, "y");
  graph.op("QLinearConv", {"b", "s", "z128", "w", "s", "wz", "s", "z128"}, "z");
  graph.output("y");
  graph.output("z");
  const Types types = graph.types_after({"nhwc-int8"});
  // One before the first convolution, one behind each of the last two.
  CHECK(std::count(types.begin(), types.end(), "Transpose") == 3);
}

}  // namespace
}  // namespace dfsim
