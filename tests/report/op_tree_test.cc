// The table of what takes the time: whole names below their modules, in order of time.
#include "report/predictions/op_tree.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "report/predictions/prediction_views.h"
#include "tests/report/small_prediction.h"

namespace dfsim {
namespace {

PredictedOp op_named(const std::string& name, TimeNs time_ns) {
  PredictedOp op;
  op.name = name;
  op.op_type = "Conv";
  op.duration_ns = time_ns;
  return op;
}

// "depth label time ops" of each row.
std::string rows_of(const std::vector<OpTreeRow>& rows) {
  std::string text;
  for (const OpTreeRow& row : rows) {
    text +=
        fmt::format("{}{} {} {}\n", std::string(row.depth, '>'), row.label, row.time_ns, row.ops);
  }
  return text;
}

TEST_CASE("Operator tree: modules add up all they hold, levels are in order of time") {
  const std::vector<PredictedOp> ops = {op_named("/a/a.0/conv1/Conv", 10),
                                        op_named("/a/a.0/conv2/Conv", 30),
                                        op_named("/a/a.1/conv1/Conv", 5),
                                        op_named("/b/Conv", 40),
                                        op_named("/c/Conv", 1),
                                        op_named("/a/a.0/Relu/Conv", 2)};
  CHECK(rows_of(op_tree(ops, 3)) ==
        "a/a.0 (3 operators) 42 3\n"
        ">conv2/Conv 30 1\n"
        ">conv1/Conv 10 1\n"
        "b/Conv 40 1\n"
        "2 other operators 6 2\n");
}

TEST_CASE("Operator tree: rows of the top level add up to the whole time") {
  std::vector<PredictedOp> ops;
  TimeNs total = 0;
  for (int i = 0; i < 60; ++i) {
    ops.push_back(op_named(fmt::format("encoder.layer.{}.dense{}", i % 6, i % 4), 1 + i * 37 % 50));
    total += ops.back().duration_ns;
  }
  for (const size_t count : {1, 5, 20, 60}) {
    TimeNs sum = 0;
    size_t counted_ops = 0;
    size_t leaves = 0;
    for (const OpTreeRow& row : op_tree(ops, count)) {
      sum += row.depth == 0 ? row.time_ns : 0;
      counted_ops += row.depth == 0 ? row.ops : 0;
      leaves += row.op != nullptr ? 1 : 0;
    }
    CHECK(sum == total);
    CHECK(counted_ops == ops.size());
    CHECK(leaves == count);
  }
}

TEST_CASE("Operator tree: equal names, names of modules and empty names keep their rows") {
  CHECK(rows_of(op_tree({op_named("x", 3), op_named("x", 2), op_named("x/y", 1), op_named("", 4)},
                        4)) ==
        "x (3 operators) 6 3\n"
        ">x (Conv) 3 1\n"
        ">x (Conv) 2 1\n"
        ">y (Conv) 1 1\n"
        " (Conv) 4 1\n");
  CHECK(rows_of(op_tree({op_named("x", 3), op_named("x", 2)}, 2)) ==
        "x (Conv) 3 1\nx (Conv) 2 1\n");
  const std::string deep(10'000, '/');
  CHECK(op_tree({op_named(deep + "a" + deep + "b", 1)}, 1).size() == 1);
}

TEST_CASE("Operator tree: without modules, rows are whole names") {
  CHECK(rows_of(op_tree({op_named("/a/b/Conv", 1), op_named("/a/c/Conv", 2)}, 2, false)) ==
        "/a/c/Conv 2 1\n/a/b/Conv 1 1\n");
}

TEST_CASE("Prediction: the summary shows long names whole") {
  Prediction prediction = small_prediction().prediction;
  const std::string name = "/" + std::string(150, 'n') + "/end";
  prediction.ops[0].name = name;
  const std::string text = summary_text(prediction);
  CHECK(text.find("...") == std::string::npos);
  CHECK(static_cast<size_t>(std::count(text.begin(), text.end(), 'n')) >= 150);
}

TEST_CASE("Prediction: the first two lines have the answer and its reason") {
  Prediction prediction = small_prediction().prediction;
  prediction.bound_only_share = 0;
  prediction.interval = {.low_ns = 230, .high_ns = 252};
  prediction.verdict = make_verdict(prediction);
  const std::string text = summary_text(prediction);
  CHECK(text.find(" on toy: 240 ns ± 11 (4.17 M/s)\n") != std::string::npos);
  CHECK(text.find("\nThe device limits (busy 100 %): matmul takes 73 %, memory bounds "
                  "100 %\n") != std::string::npos);
  prediction.interval = {.low_ns = 230, .high_ns = 500};
  CHECK(summary_text(prediction).find(": 240 ns, 230 ns to 500 ns (4.17 M/s)\n") !=
        std::string::npos);
  prediction.host_busy_ns = 400;
  prediction.verdict = make_verdict(prediction);
  CHECK(prediction.verdict.limit == Limit::kHost);
  prediction.verdict.change = Verdict::Change{"CUDA graphs", "--runtime cuda-graph", 120, 0};
  CHECK(summary_text(prediction).find("CUDA graphs would give 120 ns") != std::string::npos);
  CHECK(prediction_markdown(prediction).starts_with("**"));
}

}  // namespace
}  // namespace dfsim
