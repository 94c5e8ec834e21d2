// Cases of operators that the passes of runtimes make.
#include "tests/partition/sharding/op_cases.h"

namespace dfsim {
namespace {

using Ints = std::vector<int64_t>;

const std::string kTheirs = "com.microsoft";

Operand scale() { return weight({}); }
Operand zero() { return weight({}, DType::kUInt8); }
Operand image(Dims dims) { return operand(std::move(dims), DType::kUInt8); }

}  // namespace

std::vector<OpCase> runtime_product_cases() {
  return {
      {"FusedMatMul",
       {operand({4, 8, 4}), operand({4, 8, 4})},
       {{"transA", int64_t{1}}},
       1,
       1,
       kTheirs},
      {"FusedMatMul",
       {operand({2, 4, 8}), weight({4, 8})},
       {{"transB", int64_t{1}}},
       1,
       1,
       kTheirs},
      {"FusedGemm",
       {operand({4, 8}), weight({4, 8}), weight({4})},
       {{"transB", int64_t{1}}, {"activation", std::string("Relu")}},
       1,
       1,
       kTheirs},
      {"QGemm",
       {image({4, 8}), scale(), zero(), weight({4, 8}, DType::kInt8), weight({4}),
        weight({4}, DType::kInt8), weight({4}, DType::kInt32), scale(), zero()},
       {{"transB", int64_t{1}}},
       1,
       1,
       kTheirs},
      {"MatMulIntegerToFloat",
       {image({2, 4, 8}), weight({8, 4}, DType::kInt8), scale(), weight({4}), zero(), absent(),
        weight({4})},
       {},
       1,
       1,
       kTheirs},
      {"DynamicQuantizeMatMul",
       {operand({2, 4, 8}), weight({8, 4}, DType::kInt8), weight({4})},
       {},
       1,
       1,
       kTheirs},
      {"Attention",
       {operand({4, 3, 8}), weight({8, 24}), weight({24}), operand({4}, DType::kInt32)},
       {{"num_heads", int64_t{2}}},
       1,
       1,
       kTheirs},
  };
}

std::vector<OpCase> runtime_image_cases() {
  return {
      {"QLinearConcat",
       {scale(), zero(), image({4, 8}), scale(), zero(), image({4, 4}), scale(), zero()},
       {{"axis", int64_t{1}}},
       1,
       1,
       kTheirs},
      {"QLinearGlobalAveragePool",
       {image({4, 8, 3, 3}), scale(), zero(), scale(), zero()},
       {},
       1,
       1,
       kTheirs},
      {"QLinearGlobalAveragePool",
       {image({4, 3, 3, 8}), scale(), zero(), scale(), zero()},
       {{"channels_last", int64_t{1}}},
       1,
       1,
       kTheirs},
      {"QLinearAveragePool",
       {image({4, 6, 4}), scale(), zero(), scale(), zero()},
       {{"kernel_shape", Ints{2}}, {"channels_last", int64_t{1}}},
       1,
       1,
       kTheirs},
      {"QLinearConv",  // a scale per channel
       {image({2, 4, 5}), scale(), zero(), weight({4, 4, 3}, DType::kInt8), weight({4}),
        weight({4}, DType::kInt8), scale(), zero(), weight({4}, DType::kInt32)}},
      {"QLinearConv",
       {image({2, 5, 5, 8}), scale(), zero(), weight({8, 1, 3, 3}, DType::kInt8), weight({8}),
        weight({8}, DType::kInt8), scale(), zero()},
       {{"group", int64_t{8}}, {"channels_last", int64_t{1}}},
       1,
       1,
       kTheirs},
      {"NhwcFusedConv",
       {operand({2, 6, 4}), weight({4, 4, 3}), weight({4}), operand({2, 4, 4})},
       {{"activation", std::string("Relu")}},
       1,
       1,
       kTheirs},
      {"NhwcMaxPool", {operand({4, 6, 8})}, {{"kernel_shape", Ints{2}}}, 1, 1, kTheirs},
      {"Conv",
       {operand({2, 8, 6}), weight({8, 8, 3}), weight({8}), operand({2, 8, 4})},
       {{"activation", std::string("Relu")}},
       1,
       1,
       kTheirs + ".nchwc"},
      {"ReorderInput", {operand({4, 8, 3, 3})}, {}, 1, 1, kTheirs + ".nchwc"},
  };
}

}  // namespace dfsim
