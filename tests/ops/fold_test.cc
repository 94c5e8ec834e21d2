// Values computed at import: shape arithmetic as exporters write it.
#include <catch2/catch.hpp>

#include "graphs/ops/values/dim_expression.h"
#include "tests/ops/op_case.h"

namespace dfsim {
namespace {

std::vector<int64_t> folded(const OpCase& example, size_t output = 0) {
  const OpOutcome outcome = infer(example);
  INFO(example.op_type << ": " << outcome.status.message());
  REQUIRE(outcome.status.ok());
  REQUIRE(outcome.value(output) != nullptr);
  return outcome.value(output)->ints;
}

Operand matrix(std::vector<int64_t> extents, std::vector<int64_t> values) {
  Operand operand{Shape::of(extents), DType::kInt64, TensorRole::kConstant};
  operand.ints = std::move(values);
  return operand;
}

TEST_CASE("shapes and sizes become values") {
  CHECK(folded({"Shape", {operand({2, 3, 4})}}) == Ints{2, 3, 4});
  CHECK(folded({"Shape", {operand({2, 3, 4})}, {{"start", int64_t{-2}}}}) == Ints{3, 4});
  CHECK(folded({"Shape", {operand({2, 3, 4})}, {{"start", int64_t{1}}, {"end", int64_t{2}}}}) ==
        Ints{3});
  CHECK(folded({"Size", {operand({2, 3, 4})}}) == Ints{24});
}

TEST_CASE("integer arithmetic with broadcasting") {
  CHECK(folded({"Add", {ints({1, 2}), scalar_int(10)}}) == Ints{11, 12});
  CHECK(folded({"Sub", {ints({1, 2}), ints({3, 1})}}) == Ints{-2, 1});
  CHECK(folded({"Mul", {ints({3, 4}), ints({5})}}) == Ints{15, 20});
  CHECK(folded({"Div", {ints({7, -7}), ints({2})}}) == Ints{3, -3});  // towards zero
  CHECK(folded({"Mod", {ints({7, -7}), ints({3})}}) == Ints{1, 2});   // sign of the divisor
  CHECK(folded({"Mod", {ints({7, -7}), ints({3})}, {{"fmod", int64_t{1}}}}) == Ints{1, -1});
  CHECK(folded({"Min", {ints({7, 1}), ints({3})}}) == Ints{3, 1});
  CHECK(folded({"Max", {ints({7, 1}), ints({3})}}) == Ints{7, 3});
  CHECK(folded({"Equal", {ints({7, 1}), ints({1})}}) == Ints{0, 1});
  CHECK(folded({"Less", {ints({0, 1}), ints({1})}}) == Ints{1, 0});
  CHECK(folded({"Where", {ints({1, 0}), ints({5, 6}), ints({7, 8})}}) == Ints{5, 8});
}

TEST_CASE("what has no defined value stays unknown") {
  CHECK(infer({"Div", {ints({1}), ints({0})}}).value() == nullptr);
  CHECK(infer({"Div", {ints({INT64_MIN}), ints({-1})}}).value() == nullptr);
  CHECK(infer({"Add", {ints({INT64_MAX}), ints({1})}}).value() == nullptr);
  CHECK(infer({"Mul", {ints({INT64_MAX}), ints({2})}}).value() == nullptr);
  CHECK(infer({"Neg", {ints({INT64_MIN})}}).value() == nullptr);
  CHECK(infer({"Gather", {ints({1, 2}), scalar_int(5)}}).value() == nullptr);
  CHECK(infer({"Cast", {floats({1e30})}, {{"to", int64_t{7}}}}).value() == nullptr);
}

TEST_CASE("moves by index") {
  CHECK(folded({"Gather", {ints({10, 20, 30}), ints({2, -3})}}) == Ints{30, 10});
  CHECK(folded({"Gather",
                {matrix({2, 3}, {1, 2, 3, 4, 5, 6}), ints({2, 0})},
                {{"axis", int64_t{1}}}}) == Ints{3, 1, 6, 4});
  CHECK(folded({"Slice", {ints({1, 2, 3, 4}), ints({1}), ints({3})}}) == Ints{2, 3});
  CHECK(folded({"Slice",
                {ints({1, 2, 3, 4}), ints({-1}), ints({INT64_MIN}), ints({0}), ints({-2})}}) ==
        Ints{4, 2});
  CHECK(folded({"Concat", {ints({1}), ints({2, 3})}, {{"axis", int64_t{0}}}}) == Ints{1, 2, 3});
  CHECK(folded({"Concat",
                {matrix({2, 1}, {1, 2}), matrix({2, 2}, {3, 4, 5, 6})},
                {{"axis", int64_t{1}}}}) == Ints{1, 3, 4, 2, 5, 6});
  CHECK(folded({"Transpose", {matrix({2, 3}, {1, 2, 3, 4, 5, 6})}}) == Ints{1, 4, 2, 5, 3, 6});
  CHECK(folded({"Unsqueeze", {scalar_int(5), ints({0})}}) == Ints{5});
  CHECK(folded({"Reshape", {ints({1, 2, 3, 4}), ints({2, 2})}}) == Ints{1, 2, 3, 4});
  CHECK(folded({"Expand", {scalar_int(3), ints({2, 2})}}) == Ints{3, 3, 3, 3});
  const OpCase split{"Split", {ints({1, 2, 3}), ints({1, 2})}, {}, 13, 2};
  CHECK(folded(split, 0) == Ints{1});
  CHECK(folded(split, 1) == Ints{2, 3});
}

TEST_CASE("ranges, fills, reductions, casts") {
  CHECK(folded({"Range", {scalar_int(1), scalar_int(8), scalar_int(3)}}) == Ints{1, 4, 7});
  CHECK(folded({"Range", {scalar_int(3), scalar_int(0), scalar_int(-1)}}) == Ints{3, 2, 1});
  CHECK(folded({"ConstantOfShape",
                {ints({3})},
                {{"value", ConstValue{DType::kInt64, {1}, {7}, {}}}}}) == Ints{7, 7, 7});
  CHECK(folded({"ReduceProd", {ints({2, 3, 4}), ints({0})}, {{"keepdims", int64_t{0}}}, 18}) ==
        Ints{24});
  CHECK(folded({"ReduceMax", {ints({2, 9, 4})}, {{"keepdims", int64_t{0}}}, 13}) == Ints{9});
  CHECK(folded({"CumSum", {ints({1, 2, 3}), scalar_int(0)}}) == Ints{1, 3, 6});
  CHECK(folded({"Cast", {floats({2.9, -2.9})}, {{"to", int64_t{7}}}}) == Ints{2, -2});
  CHECK(folded({"Cast", {ints({5, 0})}, {{"to", int64_t{9}}}}) == Ints{1, 0});
}

TEST_CASE("large results are not kept") {
  const OpOutcome outcome = infer({"ConstantOfShape", {ints({kMaxConstElements + 1})}});
  CHECK(outcome.shape() == std::to_string(kMaxConstElements + 1));
  CHECK(outcome.value() == nullptr);
}

TEST_CASE("dimension expressions") {
  const auto value_of = [](std::string_view name) -> std::optional<int64_t> {
    return name == "past_seq_len" ? std::optional<int64_t>(100)
           : name == "seq"        ? std::optional<int64_t>(7)
                                  : std::nullopt;
  };
  const auto evaluate = [&](std::string_view text) {
    return evaluate_dim_expression(text, value_of);
  };
  CHECK(evaluate("past_seq_len+seq") == 107);
  CHECK(evaluate("past_seq_len + 1") == 101);
  CHECK(evaluate("2*(seq - 3)*seq") == 56);
  CHECK(evaluate("1 + 2 * seq") == 15);
  CHECK(evaluate("seq - past_seq_len") == -93);
  for (const char* bad : {"seq", "", "7", "seq+", "+seq", "seq + other", "(seq + 1", "seq + 1)",
                          "seq 1 +", "9223372036854775807 * 2", "seq + 1x", "- seq"}) {
    INFO(bad);
    CHECK_FALSE(evaluate(bad).has_value());
  }
  CHECK_FALSE(evaluate(std::string(100, '(') + "1+1" + std::string(100, ')')).has_value());
}

}  // namespace
}  // namespace dfsim
