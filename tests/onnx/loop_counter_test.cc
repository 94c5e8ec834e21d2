// Loops without a trip count whose condition counts, as exporters of TensorFlow write them.
#include <catch2/catch.hpp>
#include <string>

#include "graphs/ops/totals.h"
#include "tests/onnx/loop_maker.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

onnx::TensorProto* scalar(GraphMaker* graph, const std::string& name, int64_t value) {
  auto* tensor = graph->weight(name, {});
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_int64_data(value);
  return tensor;
}

// i starts at `start` and grows by `step`; h <- h . w in each trip, 4 x 4 . 4 x 4 = 64 MACs. `tail`
// adds the condition "go_on" of "next_i" and "bound" to the body.
template <typename Tail>
ImportedModel counting_loop(int64_t start, int64_t step, int64_t bound, Tail tail) {
  ModelMaker model;
  model.input("x", {4, 4});
  model.weight("w", {4, 4});
  scalar(&model, "start", start);
  scalar(&model, "step", step);
  scalar(&model, "bound", bound);
  auto* truth = model.weight("true", {});
  truth->set_data_type(onnx::TensorProto::BOOL);
  truth->add_int32_data(1);
  auto* node = model.node("Loop", {"", "true", "start", "x"}, {"i", "h", "all"}, "steps");
  GraphMaker body(set_graph(node, "body"));
  body.input("trip", {}, onnx::TensorProto::INT64);
  body.input("go", {}, onnx::TensorProto::BOOL);
  body.input("old_i", {}, onnx::TensorProto::INT64);
  body.input("state", {4, 4});
  body.node("Add", {"old_i", "step"}, {"next_i"});
  body.node("MatMul", {"state", "w"}, {"next"}, "product");
  tail(&body);
  for (const char* output : {"go_on", "next_i", "next", "next"}) {
    body.output(output);
  }
  model.output("h");
  model.output("all");
  auto result = model.import({});
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(*result);
}

int64_t macs_in(const ImportedModel& model) {
  const auto totals = graph_totals(model.graph);
  REQUIRE(totals.ok());
  return totals->macs;
}

// Too many trips to follow one by one, so that the condition has to tell.
constexpr int64_t kMany = 5000;

TEST_CASE("Counted loop: runs while the counter is below a bound that it never sees") {
  const auto less = [](GraphMaker* body) { body->node("Less", {"next_i", "bound"}, {"go_on"}); };
  const ImportedModel result = counting_loop(0, 1, kMany, less);
  CHECK(macs_in(result) == kMany * 64);
  CHECK(shape_of(result.graph, "all") == "5000x4x4");
  CHECK(result.report.notes.empty());
  CHECK(result.report.uncounted_loops.empty());
  // 7, 10, ... 14998, 15001: the last trip is the first that reaches the bound.
  CHECK(macs_in(counting_loop(4, 3, 15000, less)) == 4999 * 64);
}

TEST_CASE("Counted loop: the bound may be reached, be on the other side, or be counted down to") {
  CHECK(macs_in(counting_loop(0, 1, kMany, [](GraphMaker* body) {
          body->node("LessOrEqual", {"next_i", "bound"}, {"go_on"});
        })) == (kMany + 1) * 64);
  CHECK(macs_in(counting_loop(0, 1, kMany, [](GraphMaker* body) {
          body->node("Greater", {"bound", "next_i"}, {"go_on"});
        })) == kMany * 64);
  CHECK(macs_in(counting_loop(kMany, -1, 0, [](GraphMaker* body) {
          body->node("Greater", {"next_i", "bound"}, {"go_on"});
        })) == kMany * 64);
  CHECK(macs_in(counting_loop(0, 1, kMany, [](GraphMaker* body) {
          body->node("GreaterOrEqual", {"next_i", "bound"}, {"over"});
          body->node("Not", {"over"}, {"go_on"});
        })) == kMany * 64);
}

TEST_CASE("Counted loop: floats and conditions joined by And count, the first to fail ends it") {
  CHECK(macs_in(counting_loop(0, 1, kMany, [](GraphMaker* body) {
          set_int(body->node("Cast", {"next_i"}, {"a"}), "to", onnx::TensorProto::FLOAT);
          set_int(body->node("Cast", {"bound"}, {"b"}), "to", onnx::TensorProto::FLOAT);
          body->node("Less", {"a", "b"}, {"below"});
          scalar(body, "soon", 4000);
          body->node("Less", {"next_i", "soon"}, {"early"});
          body->node("And", {"below", "early"}, {"go_on"});
        })) == 4000 * 64);
}

TEST_CASE("Counted loop: a condition on data is not counted, and the report says so") {
  const ImportedModel result = counting_loop(0, 1, kMany, [](GraphMaker* body) {
    set_int(body->node("ReduceSum", {"next"}, {"sum"}), "keepdims", 0);
    body->weight("zero", {})->add_float_data(0);
    body->node("Less", {"sum", "zero"}, {"go_on"});
  });
  CHECK(macs_in(result) == 64);
  REQUIRE(result.report.uncounted_loops.size() == 1);
  CHECK(result.report.uncounted_loops[0] == "steps");
  REQUIRE(result.report.notes.size() == 1);
  CHECK(result.report.notes[0].find("--trip-count") != std::string::npos);
}

TEST_CASE("Counted loop: a counter that moves away from its bound or unevenly is not counted") {
  const auto less = [](GraphMaker* body) { body->node("Less", {"next_i", "bound"}, {"go_on"}); };
  CHECK(counting_loop(0, -1, kMany, less).report.uncounted_loops.size() == 1);
  const ImportedModel uneven = counting_loop(1, 1, 1'000'000'000, [](GraphMaker* body) {
    body->node("Mul", {"next_i", "next_i"}, {"square"});
    body->node("Less", {"square", "bound"}, {"go_on"});
  });
  CHECK(uneven.report.uncounted_loops.size() == 1);
}

}  // namespace
}  // namespace dfsim
