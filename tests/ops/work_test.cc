// Work of operators, counted by hand, and properties that every definition keeps.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "graphs/ops/factors/factors.h"
#include "graphs/ops/op_def.h"
#include "graphs/ops/standard_versions.h"
#include "tests/ops/op_case.h"

namespace dfsim {
namespace {

constexpr int64_t kF32 = 4;

TEST_CASE("ResNet's first convolution") {
  const OpWork work = infer({"Conv",
                             {operand({1, 3, 224, 224}), weight({64, 3, 7, 7})},
                             {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}})
                          .work();
  CHECK(work.macs == 112 * 112 * 64 * 3 * 49);
  CHECK(work.flops == 2 * work.macs);
  CHECK(work.weight_bytes == 64 * 3 * 49 * kF32);
  CHECK(work.bytes_read == 3 * 224 * 224 * kF32 + work.weight_bytes);
  CHECK(work.bytes_written == 64 * 112 * 112 * kF32);
  CHECK(work.dtype == DType::kFloat32);
  CHECK(work.matrix);
}

TEST_CASE("a depthwise convolution does not multiply by its groups; a bias adds one per element") {
  const OpWork work = infer({"Conv",
                             {operand({2, 32, 10, 10}), weight({32, 1, 3, 3}), weight({32})},
                             {{"group", int64_t{32}}, {"pads", Ints{1, 1, 1, 1}}}})
                          .work();
  CHECK(work.macs == 2 * 32 * 100 * 9);
  CHECK(work.flops == 2 * work.macs + 2 * 32 * 100);
}

TEST_CASE("a transposed convolution counts each input element against each tap") {
  const OpWork work = infer({"ConvTranspose",
                             {operand({1, 4, 5, 5}), weight({4, 6, 2, 2})},
                             {{"strides", Ints{2, 2}}}})
                          .work();
  CHECK(work.macs == 4 * 25 * 6 * 4);
  CHECK(work.bytes_written == 6 * 100 * kF32);
}

TEST_CASE("work by definition per element") {
  CHECK(infer({"HardSwish", {operand({2, 3})}}).work().flops == 6 * 5);
  CHECK(infer({"Sigmoid", {operand({2, 3})}}).work().flops == 6 * 4);
}

TEST_CASE("work of matrix products") {
  CHECK(infer({"MatMul", {operand({8, 12, 128, 64}), operand({8, 12, 64, 128})}}).work().macs ==
        int64_t{8} * 12 * 128 * 128 * 64);
  const OpWork gemm = infer({"Gemm",
                             {operand({2, 512}), weight({1000, 512}), weight({1000})},
                             {{"transB", int64_t{1}}}})
                          .work();
  CHECK(gemm.macs == 2 * 512 * 1000);
  CHECK(gemm.flops == 2 * gemm.macs + 2000);
  const OpWork einsum = infer({"Einsum",
                               {operand({2, 3, 4}), operand({2, 4, 5})},
                               {{"equation", std::string("bij,bjk->bik")}}})
                            .work();
  CHECK(einsum.macs == 2 * 3 * 4 * 5);
  const OpWork integer =
      infer({"MatMulInteger", {operand({4, 8}, DType::kUInt8), operand({8, 2}, DType::kInt8)}})
          .work();
  CHECK(integer.macs == 64);
  CHECK(integer.dtype == DType::kInt8);
  CHECK(integer.bytes_read == 32 + 16);
  CHECK(integer.bytes_written == 8 * 4);
}

TEST_CASE("half precision halves the bytes, not the arithmetic") {
  const OpWork full = infer({"Add", {operand({10, 10}), operand({10, 10})}}).work();
  const OpWork half =
      infer({"Add", {operand({10, 10}, DType::kFloat16), operand({10, 10}, DType::kFloat16)}})
          .work();
  CHECK(full.flops == 100);
  CHECK(half.flops == 100);
  CHECK(full.bytes() == 3 * 400);
  CHECK(half.bytes() == 3 * 200);
  CHECK(half.dtype == DType::kFloat16);
}

TEST_CASE("an operand that is used twice is read once") {
  GraphBuilder builder;
  const TensorId x = builder.tensor_by_name("x");
  builder.tensor(x).shape = Shape({Dim(100)});
  builder.tensor(x).dtype = DType::kFloat32;
  builder.mark_input(x);
  Op op;
  op.op_type = "Mul";
  op.version = 13;
  op.inputs = {x, x};
  op.outputs = {builder.tensor_by_name("y")};
  REQUIRE(builder.add_op(std::move(op)).ok());
  REQUIRE(infer_shapes(builder, {}).ok());
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  CHECK(op_work(*graph, OpId(0))->bytes_read == 400);
}

TEST_CASE("views move nothing; gathers and slices read what they return") {
  CHECK(infer({"Reshape", {operand({2, 3}), ints({6})}}).work().bytes() == 0);
  CHECK(infer({"Identity", {operand({2, 3})}}).work() ==
        infer({"Flatten", {operand({2, 3})}}).work());
  const OpWork gather =
      infer({"Gather", {weight({50000, 768}), operand({1, 10}, DType::kInt64)}}).work();
  CHECK(gather.bytes_read == 10 * 768 * kF32 + 10 * 8);
  CHECK(gather.bytes_written == 10 * 768 * kF32);
  CHECK(gather.flops == 0);
  const OpWork slice = infer({"Slice", {operand({100, 10}), ints({0}), ints({5})}}).work();
  CHECK(slice.bytes_read == 5 * 10 * kF32 + 16);
}

TEST_CASE("norms, softmax, reductions, pooling count what they read") {
  CHECK(infer({"Softmax", {operand({4, 10})}}).work().flops == 5 * 40);
  CHECK(infer({"LayerNormalization", {operand({4, 10}), weight({10})}}).work().flops == 7 * 40);
  CHECK(infer({"BatchNormalization",
               {operand({1, 3, 5, 5}), weight({3}), weight({3}), weight({3}), weight({3})}})
            .work()
            .flops == 2 * 75);
  CHECK(infer({"ReduceSum", {operand({4, 10}), ints({1})}}).work().flops == 40);
  CHECK(infer({"MaxPool", {operand({1, 1, 4, 4})}, {{"kernel_shape", Ints{2, 2}}}}).work().flops ==
        9 * 4);
  CHECK(infer({"GlobalAveragePool", {operand({1, 2, 4, 4})}}).work().flops == 32);
}

TEST_CASE("work of recurrent layers") {
  // 35 steps x batch 2: four gates of 20 from 100 inputs and 20 hidden units.
  const OpWork work =
      infer({"LSTM", {operand({35, 2, 100}), weight({1, 80, 100}), weight({1, 80, 20})}}).work();
  CHECK(work.macs == 35 * 2 * 80 * (100 + 20));
  CHECK(work.flops == 2 * work.macs + 35 * 2 * 80 * 10);
}

TEST_CASE("attention: scores and their product with the values") {
  const OpWork work =
      infer({"Attention",
             {operand({1, 8, 10, 64}), operand({1, 8, 12, 64}), operand({1, 8, 12, 32})},
             {},
             23})
          .work();
  CHECK(work.macs == 8 * 10 * 12 * (64 + 32));
  CHECK(work.flops == 2 * work.macs + 8 * 10 * 12 * 7);
}

TEST_CASE("work that does not fit in 63 bits is an error, not a number") {
  const int64_t huge = int64_t{1} << 40;
  const OpOutcome outcome = infer({"MatMul", {operand({huge, huge}), operand({huge, huge})}});
  REQUIRE(outcome.status.ok());
  const auto work = op_work(outcome.graph, OpId(0));
  REQUIRE_FALSE(work.ok());
  CHECK_THAT(work.status().message(), Catch::Contains("does not fit in 63 bits"));
}

TEST_CASE("an unknown operator moves its operands") {
  const OpOutcome outcome = infer({"Relu", {operand({10})}});
  Graph graph = outcome.graph;
  GraphBuilder builder(graph);
  builder.op(OpId(0)).op_type = "Frobnicate";
  builder.op(OpId(0)).op_class = OpClass::kOpaque;
  const auto changed = builder.build();
  REQUIRE(changed.ok());
  const auto work = op_work(*changed, OpId(0));
  CHECK(work->bytes() == 80);
  CHECK(work->flops == 0);
}

TEST_CASE("every definition is complete and unique") {
  std::set<std::pair<std::string, std::string>> names;
  for (const OpDef* def : all_op_defs()) {
    INFO(def->domain << "::" << def->op_type);
    CHECK(def->infer != nullptr);
    CHECK_FALSE(def->op_type.empty());
    CHECK(names.emplace(def->domain, def->op_type).second);
    CHECK(find_op_def(def->domain, def->op_type) == def);
    CHECK(def->flops_per_element >= 0);
    CHECK_FALSE(describe_work(*def).empty());
    if (def->work == work_per_element) {
      CHECK(def->flops_per_element > 0);  // else the rule would count nothing
    }
    if (def->work == nullptr) {
      // The default "reads its inputs, writes its outputs, no arithmetic" must be meant.
      static const std::set<OpClass> kMovers = {OpClass::kDataMovement, OpClass::kGather,
                                                OpClass::kConstant, OpClass::kCollective,
                                                OpClass::kOpaque};
      CHECK(kMovers.count(def->op_class) == 1);
    }
  }
  CHECK(find_op_def("ai.onnx", "Conv") == find_op_def("", "Conv"));
  CHECK(find_op_def("", "NoSuchOp") == nullptr);
  CHECK(find_op_def("other", "Conv") == nullptr);
}

// ai.onnx, ai.onnx.ml and the previews, as ONNX itself lists them.
TEST_CASE("every operator of the standard domains has a definition") {
  const std::set<std::string_view> without = {
      "Constant",  // becomes a constant tensor on import
  };
  CHECK(standard_ops().size() == 227);
  for (const StandardOp& op : standard_ops()) {
    INFO(op.domain << "::" << op.op_type);
    CHECK((find_op_def(op.domain, op.op_type) != nullptr) == (without.count(op.op_type) == 0));
    CHECK(standard_versions(op.domain, op.op_type) == op.versions);
  }
  CHECK(standard_versions("ai.onnx", "Conv") == "1, 11, 22");
  CHECK(standard_versions("com.microsoft", "FusedConv").empty());
}

TEST_CASE("no rule crashes on operands of any rank, on none, or on values that make no sense") {
  // Whatever the outcome, it is a Status or a graph whose work can be asked for.
  const std::vector<Operand> operands = {operand({}),
                                         operand({0}),
                                         operand({1}),
                                         operand({2, 3}),
                                         operand({1, 1, 1}),
                                         operand({1, 2, 3, 4}),
                                         operand({1, 2, 3, 4, 5}),
                                         unknown_operand(),
                                         absent(),
                                         ints({}),
                                         ints({-1}),
                                         ints({0, INT64_MAX, INT64_MIN, 7}),
                                         scalar_int(INT64_MIN),
                                         floats({1e300, -1, 0}),
                                         operand({4}, DType::kString),
                                         {Shape({Dim(), Dim(3)}), DType::kInt64}};
  const std::vector<std::pair<std::string, AttrValue>> strange = {
      {"axis", INT64_MIN},
      {"axes", Ints{INT64_MAX, -1}},
      {"perm", Ints{5, -9}},
      {"kernel_shape", Ints{1}},
      {"strides", Ints{}},
      {"pads", Ints{INT64_MAX, 1, 2, 3}},
      {"group", INT64_MAX},
      {"blocksize", INT64_MAX},
      {"split", Ints{INT64_MAX, INT64_MAX}},
      {"to", int64_t{999}},
      {"dtype", int64_t{-5}},
      {"shape", Ints{INT64_MAX, 2}},
      {"equation", std::string("a,b->")},
      {"num_heads", int64_t{-3}},
      {"q_num_heads", INT64_MIN},
      {"k", INT64_MAX},
      {"scales", std::vector<double>{1e300}}};
  for (const OpDef* def : all_op_defs()) {
    for (size_t a = 0; a < operands.size(); ++a) {
      for (size_t count = 0; count <= 9; ++count) {
        for (const bool with_attributes : {false, true}) {
          OpCase example{std::string(def->op_type), {}, {}, 17, 2, std::string(def->domain)};
          for (size_t i = 0; i < count; ++i) {
            example.inputs.push_back(operands[(a + i * i) % operands.size()]);
          }
          if (with_attributes) {
            example.attributes = strange;
          }
          const OpOutcome outcome = infer(example);
          if (outcome.status.ok()) {
            (void)op_work(outcome.graph, OpId(0));
            (void)op_factors(outcome.graph, OpId(0));
          } else {
            CHECK(outcome.status.message().find('\n') == std::string::npos);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dfsim
