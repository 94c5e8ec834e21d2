// The arena of ONNX Runtime: cases whose bytes ONNX Runtime 1.31.1 itself reported in its profile.
#include "graphs/algorithms/arena_plan.h"

#include <algorithm>

#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

constexpr Bytes kOne = 8 * 16 * 16 * 4;  // of a [1, 8, 16, 16] in float32
const PassCase::Attributes kSwap = {{"perm", std::vector<int64_t>{0, 1, 3, 2}}};

Bytes peak_of(PassCase& graph) {
  const auto plan = plan_arena(graph.after({}));
  REQUIRE(plan.ok());
  return plan->peak_bytes;
}

// x -> Transpose -> "a"
PassCase start() {
  PassCase graph;
  graph.input("x", {1, 8, 16, 16});
  graph.op("Transpose", {"x"}, "a", kSwap);
  return graph;
}

void finish(PassCase& graph) {
  graph.op("Transpose", {"b"}, "y", kSwap);
  graph.output("y");
}

TEST_CASE("arena: activations work in place, sums and negations do not") {
  PassCase in_place = start();
  in_place.op("Relu", {"a"}, "r");
  in_place.op("Sigmoid", {"r"}, "s");
  in_place.op("Softmax", {"s"}, "b");
  finish(in_place);
  const auto plan = plan_arena(in_place.after({}));
  REQUIRE(plan.ok());
  CHECK(plan->peak_bytes == 2 * kOne);
  CHECK(std::count_if(plan->buffer.begin(), plan->buffer.end(),
                      [](TensorId id) { return id.valid(); }) == 5);
  PassCase sum = start();
  sum.op("Neg", {"a"}, "n");
  sum.op("Add", {"a", "n"}, "b");  // a and n are read: a third buffer
  finish(sum);
  CHECK(peak_of(sum) == 3 * kOne);
}

TEST_CASE("arena: no operator overwrites a buffer with another reader") {
  PassCase graph = start();
  graph.op("Relu", {"a"}, "r");
  graph.op("Add", {"a", "r"}, "b");
  finish(graph);
  CHECK(peak_of(graph) == 3 * kOne);
}

TEST_CASE("arena: reuses a free buffer of the same shape, which stays allocated in between") {
  PassCase graph = start();
  graph.op("Concat", {"a", "a"}, "q", {{"axis", int64_t{1}}});
  graph.op("Concat", {"q", "q"}, "r", {{"axis", int64_t{1}}});
  graph.ints("from", {0});
  graph.ints("to", {8});
  graph.ints("axis", {1});
  graph.op("Slice", {"r", "from", "to", "axis"}, "b");
  finish(graph);
  // With r: a's buffer, which b takes later, q and r. Lifetimes alone would give 6.
  CHECK(peak_of(graph) == 7 * kOne);
}

TEST_CASE("arena: views share, a convolution overwrites its summand, inputs are stored elsewhere") {
  PassCase view;
  view.input("x", {1, 8, 16, 16});
  view.ints("shape", {8, 256});
  view.op("Reshape", {"x", "shape"}, "v");
  view.op("Neg", {"v"}, "y");
  view.output("y");
  CHECK(peak_of(view) == kOne);
  PassCase sum = start();
  sum.weight("w", {8, 8, 1, 1});
  sum.op("com.microsoft.nchwc.Conv", {"a", "w"}, "c");
  sum.op("com.microsoft.nchwc.Conv", {"a", "w", "", "c"}, "b");
  finish(sum);
  CHECK(peak_of(sum) == 2 * kOne);
}

TEST_CASE("arena: operators run depth first from the last, later operands first") {
  PassCase graph;
  graph.input("x", {4});
  graph.op("Neg", {"x"}, "a");
  graph.op("Abs", {"x"}, "b");
  graph.op("Sqrt", {"b"}, "c");
  graph.op("Add", {"a", "c"}, "y");
  graph.output("y");
  const Graph& result = graph.after({});
  const auto plan = plan_arena(result);
  REQUIRE(plan.ok());
  std::vector<std::string> order;
  for (const OpId op : plan->order) {
    order.push_back(result.op(op).name);
  }
  CHECK(order == std::vector<std::string>{"b", "c", "a", "y"});
  CHECK(result.op(plan->peak_op).name == "y");
}

TEST_CASE("arena: a tensor of a shape that the planner does not know shares no buffer") {
  // a, b and y have the size kOne, j and n twice that. Planned, b takes a's buffer, which therefore
  // stays while j and n are there; else a goes after j was made.
  PassCase graph = start();
  graph.op("Concat", {"a", "a"}, "j", {{"axis", int64_t{2}}});
  graph.op("Neg", {"j"}, "n");
  graph.op("MaxPool", {"n"}, "b",
           {{"kernel_shape", std::vector<int64_t>{2, 1}}, {"strides", std::vector<int64_t>{2, 1}}});
  finish(graph);
  const Graph& executed = graph.after({});
  const auto planned = plan_arena(executed);
  const auto unplanned = plan_arena(executed, std::vector<bool>(executed.tensor_count(), true));
  REQUIRE(planned.ok());
  REQUIRE(unplanned.ok());
  CHECK(planned->peak_bytes == 5 * kOne);
  CHECK(unplanned->peak_bytes == 4 * kOne);
}

TEST_CASE("Arena plan: what a kernel keeps for itself is not in the arena") {
  PassCase graph;
  graph.input("x", {1, 8, 4, 16});
  graph.input("y", {1, 8, 4, 16});
  graph.op("Relu", {"x"}, "a");
  graph.op("Einsum", {"a", "y"}, "s", {{"equation", std::string("bind,bjnd->bnij")}});
  graph.op("Exp", {"s"}, "z");
  graph.output("z");
  const auto plan = plan_arena(graph.after({"ort-einsum"}));
  REQUIRE(plan.ok());
  // The Relu's result (512 numbers), the scores (256) and the output (256) of 4 bytes each: the
  // Relu's is free when Exp runs.
  CHECK(plan->peak_bytes == (512 + 256) * 4);
}

}  // namespace
}  // namespace dfsim
