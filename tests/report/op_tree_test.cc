// The table of what takes the time: whole names below their modules, in order of time.
#include "report/predictions/op_tree/op_tree.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "report/predictions/op_tree/alike_names.h"
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

std::vector<PredictedOp> layers(int count, TimeNs last_ns) {
  std::vector<PredictedOp> ops = {op_named("/embed/Conv", 7)};
  for (int i = 0; i < count; ++i) {
    ops.push_back(op_named(fmt::format("/h.{}/mlp/Conv", i), i + 1 < count ? 10 : last_ns));
    ops.push_back(op_named(fmt::format("/h.{}/mlp/Conv_1", i), 4));
    ops.push_back(op_named(fmt::format("/h.{}/norm/Conv", i), 2));
  }
  return ops;
}

TEST_CASE("Operator tree: layers that hold the same work are one") {
  CHECK(rows_of(op_tree(layers(12, 10), 2)) ==
        "h.{0..11} (12 alike, 36 operators) 192 36\n"
        ">mlp (24 operators) 168 24\n"
        ">>Conv (12x) 120 12\n"
        ">>Conv_1 (12x) 48 12\n"
        "1 other operator 7 1\n");
  // The last layer takes longer, so it has its own row.
  CHECK(rows_of(op_tree(layers(4, 11), 3)) ==
        "h.{0..2} (3 alike, 9 operators) 48 9\n"
        ">mlp (6 operators) 42 6\n"
        ">>Conv (3x) 30 3\n"
        ">>Conv_1 (3x) 12 3\n"
        "h.3/mlp/Conv 11 1\n"
        "3 other operators 13 3\n");
}

TEST_CASE("Operator tree: repeated modules have a row of their own") {
  // Only operators below mlp are shown, yet the row counts all of the layers.
  const std::vector<OpTreeRow> rows = op_tree(layers(3, 10), 2);
  REQUIRE(rows.size() > 2);
  CHECK(rows[0].label == "h.{0..2} (3 alike, 9 operators)");
  CHECK(rows[0].time_ns == 48);
  // One operator alone needs no row above it.
  CHECK(rows_of(op_tree(layers(3, 10), 1)) ==
        "h.{0..2}/mlp/Conv (3x) 30 3\n7 other operators 25 7\n");
}

TEST_CASE("Operator tree: alike operators are one without modules, too") {
  CHECK(rows_of(op_tree(layers(3, 10), 2, false)) ==
        "/h.{0..2}/mlp/Conv (3x) 30 3\n"
        "/h.{0..2}/mlp/Conv_1 (3x) 12 3\n"
        "4 other operators 13 4\n");
}

TEST_CASE("Names that are alike: differ in one number and are of one kind") {
  const auto labels = [](const std::vector<NamedKind>& names) {
    std::string text;
    for (const std::vector<size_t>& group : alike_names(names)) {
      std::vector<std::string_view> members;
      for (const size_t member : group) {
        members.push_back(names[member].name);
      }
      text += alike_label(members) + ' ';
    }
    return text;
  };
  CHECK(labels({{"h.0", 1}, {"h.1", 1}, {"h.2", 1}, {"h.5", 1}, {"h.7", 1}, {"h.8", 1}}) ==
        "h.{0..2,5,7,8} ");
  CHECK(labels({{"h.0", 1}, {"h.1", 2}, {"h.2", 1}}) == "h.{0,2} h.1 ");
  CHECK(labels({{"a1.0", 1}, {"a1.1", 1}, {"a2.0", 1}}) == "a1.{0,1} a2.0 ");
  CHECK(labels({{"x", 1}, {"y", 1}, {"10", 1}}) == "x y 10 ");
  CHECK(labels({{"n12345678901", 1}, {"n12345678902", 1}}) == "n12345678901 n12345678902 ");
  CHECK(labels({}) == "");
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
  prediction.interval = {.low_ns = 5, .high_ns = 480};  // not "± 240"
  CHECK(summary_text(prediction).find(": 240 ns, 5 ns to 480 ns (4.17 M/s)\n") !=
        std::string::npos);
  prediction.interval = {.low_ns = 230, .high_ns = 500};
  prediction.host_busy_ns = 400;
  prediction.verdict = make_verdict(prediction);
  CHECK(prediction.verdict.limit == Limit::kHost);
  prediction.verdict.change = Verdict::Change{"CUDA graphs", "--runtime cuda-graph", 120, 0};
  CHECK(summary_text(prediction).find("CUDA graphs would give 120 ns") != std::string::npos);
  CHECK(prediction.host_is_assumed);  // the toy's hardware file says nothing of its host
  CHECK(summary_text(prediction).find("is assumed") != std::string::npos);
  prediction.host_is_assumed = false;
  CHECK(summary_text(prediction).find("is assumed") == std::string::npos);
  CHECK(prediction_markdown(prediction).starts_with("**"));
}

}  // namespace
}  // namespace dfsim
