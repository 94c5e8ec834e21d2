// Transpositions: where they meet, what goes before them, when they copy; scales and conditions
// that other operators take; PyTorch's group normalisation.
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

TEST_CASE("transposes: meet through an activation and cancel") {
  PassCase graph;
  graph.input("x", {2, 3, 4});
  graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  graph.op("Relu", {"t"}, "r");
  graph.op("Transpose", {"r"}, "u", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  graph.op("Neg", {"u"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"transposes"}) == Types{"Relu", "Neg"});
}

TEST_CASE("transposes: stay where moving them gains nothing, and axes follow a moved one") {
  PassCase stays;
  stays.input("x", {2, 3, 4});
  stays.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  stays.op("Relu", {"t"}, "y");
  stays.output("y");
  CHECK(stays.types_after({"transposes"}) == Types{"Transpose", "Relu"});
  PassCase moves(13);
  moves.input("x", {2, 3, 4});
  moves.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  moves.op("ReduceMean", {"t"}, "y",
           {{"axes", std::vector<int64_t>{1, 2}}, {"keepdims", int64_t{0}}});
  moves.output("y");
  const Graph& result = moves.after({"transposes"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).op_type == "ReduceMean");
}

// x^T, in three parts along an axis that stays; the first part to a Transpose, by `others`
// operators besides the one on the way. Asked of ONNX Runtime 1.32.0.
bool leads_on(const std::vector<int64_t>& last, int others) {
  PassCase graph;
  graph.input("x", {2, 5, 8, 12});
  graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  graph.split("t", {"q", "k", "v"}, 3);
  graph.op("Softmax", {"q"}, "of_q", {{"axis", int64_t{3}}});
  graph.op("Softmax", {"v"}, "of_v", {{"axis", int64_t{3}}});
  graph.op("Relu", {"k"}, "r");
  for (int i = 0; i < others; ++i) {
    graph.op("Neg", {"k"}, "n" + std::to_string(i));
    graph.output("n" + std::to_string(i));
  }
  graph.op("Transpose", {"r"}, "y", {{"perm", last}});
  graph.output("y");
  graph.output("of_q");
  graph.output("of_v");
  return graph.types_after({"transposes"}).front() == "Split";
}

TEST_CASE("transposes: go to another one through a result that one operator reads, or to cancel") {
  CHECK(leads_on({0, 1, 3, 2}, 0));
  CHECK_FALSE(leads_on({0, 1, 3, 2}, 1));
  CHECK(leads_on({0, 2, 1, 3}, 1));
}

TEST_CASE("transposes: Tile repeats the axes where they were") {
  PassCase graph;
  graph.input("x", {2, 3, 4});
  graph.ints("repeats", {1, 2, 5});
  graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  graph.op("Tile", {"t", "repeats"}, "u");
  graph.op("Transpose", {"u"}, "y", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  graph.op("Relu", {"y"}, "z");
  graph.output("z");
  const Graph& result = graph.after({"transposes"});
  REQUIRE(result.op_count() == 2);
  CHECK(result.constant(result.op(OpId(0)).inputs[1])->ints == std::vector<int64_t>{1, 5, 2});
}

TEST_CASE(
    "matmul-scale: a scaled operand that others read stays, and the product takes its scale") {
  PassCase graph;
  graph.input("x", {2, 3, 4});
  graph.input("a", {2, 4, 5});
  graph.input("b", {2, 4, 6});
  graph.number("half", 0.5);
  graph.op("Mul", {"x", "half"}, "scaled");
  graph.op("MatMul", {"scaled", "a"}, "y");
  graph.op("MatMul", {"scaled", "b"}, "z");
  graph.op("Relu", {"scaled"}, "r");
  for (const char* output : {"y", "z", "r"}) {
    graph.output(output);
  }
  const Types types = graph.types_after({"matmul-scale"});
  CHECK(std::count(types.begin(), types.end(), "com.microsoft.FusedMatMul") == 2);
  CHECK(std::count(types.begin(), types.end(), "Mul") == 1);
}

TEST_CASE("not-where: Where swaps its branches, unless another operator reads the Not") {
  for (const bool shared : {false, true}) {
    PassCase graph;
    graph.input("x", {4});
    graph.input("a", {4});
    graph.input("b", {4});
    graph.number("zero", 0);
    graph.op("Greater", {"x", "zero"}, "c");
    graph.op("Not", {"c"}, "n");
    graph.op("Where", {"n", "a", "b"}, "y");
    graph.output("y");
    if (shared) {
      graph.op("And", {"n", "c"}, "z");
      graph.output("z");
    }
    const Graph& result = graph.after({"not-where"});
    const Op& where = result.op(result.tensor(result.outputs()[0]).producer);
    CHECK(result.tensor(where.inputs[0]).name == (shared ? "n" : "c"));
    CHECK(result.tensor(where.inputs[1]).name == (shared ? "a" : "b"));
  }
}

TEST_CASE("transposes: move behind a reshape that splits axes, but not one that joins them") {
  struct Case {
    std::vector<int64_t> extents;
    std::vector<int64_t> reshaped;  // before the Transpose, or nothing
    std::vector<int64_t> perm;
  };
  // x is [2, 12, 5], transposed [2, 5, 12]. All as ONNX Runtime 1.31.1 and 1.32.0 have it.
  const Case cases[] = {{{2, 5, 3, 4}, {2, 3, 4, 5}, {0, 3, 1, 2}},
                        {{2, 1, 5, 3, 4}, {2, 3, 4, 1, 5}, {0, 3, 4, 1, 2}},
                        {{2, 5, 1, 3, 4}, {2, 1, 3, 4, 5}, {0, 4, 1, 2, 3}},
                        {{2, 5, 3, 4, 1}, {}, {}},
                        {{10, 3, 4}, {}, {}},
                        {{2, 15, 4}, {}, {}}};
  for (const Case& wanted : cases) {
    PassCase graph;
    graph.input("x", {2, 12, 5});
    graph.ints("extents", wanted.extents);
    graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1}}});
    graph.op("Reshape", {"t", "extents"}, "y");
    graph.output("y");
    const Graph& result = graph.after({"transposes"});
    REQUIRE(result.op_count() == 2);
    const bool first = result.op(OpId(0)).op_type == "Reshape";
    CHECK(first == !wanted.reshaped.empty());
    if (first) {
      CHECK(result.tensor(result.op(OpId(0)).outputs[0]).shape.extents() == wanted.reshaped);
      CHECK(*result.op(OpId(1)).attributes.get_ints("perm") == wanted.perm);
    }
  }
}

TEST_CASE(
    "aten-group-norm: instance normalisation of groups with weights per channel is one call") {
  struct Given {
    std::vector<int64_t> weight;
    bool read, fused;
  };
  for (const Given& given : {Given{{8, 1, 1}, false, true}, Given{{8, 1, 1}, true, false},
                             Given{{8, 4, 4}, false, false}, Given{{1, 1, 4}, false, false}}) {
    PassCase graph(17);
    graph.input("x", {2, 8, 4, 4});
    graph.ints("groups", {0, 2, -1});
    graph.ints("image", {2, 8, 4, 4});
    graph.weight("ones", {2});
    graph.weight("zeros", {2});
    graph.weight("scale", given.weight);
    graph.weight("shift", given.weight);
    graph.op("Reshape", {"x", "groups"}, "g");
    graph.op("InstanceNormalization", {"g", "ones", "zeros"}, "n");
    graph.op("Reshape", {"n", "image"}, "r");
    graph.op("Mul", {"r", "scale"}, "m");
    graph.op("Add", {"m", "shift"}, "y");
    graph.output("y");
    if (given.read) {
      graph.output("m");
    }
    const Types types = graph.types_after({"aten-group-norm"});
    CHECK((types == Types{"GroupNormalization"}) == given.fused);
    CHECK(types.size() == (given.fused ? 1 : 5));
  }
}

TEST_CASE("torch-views: a transpose copies only if a reshape needs it") {
  PassCase graph;
  graph.input("x", {2, 3, 4});
  graph.ints("flat", {6, 4});
  graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{1, 0, 2}}});
  graph.op("Reshape", {"t", "flat"}, "r");
  graph.op("Transpose", {"x"}, "u", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  graph.op("MatMul", {"x", "u"}, "m");
  graph.output("r");
  graph.output("m");
  const Graph& result = graph.after({"torch-views"});
  for (const Op& op : result.ops()) {
    if (op.op_type == "Transpose") {
      CHECK((op.op_class == OpClass::kView) == (op.name == "u"));
    }
  }
}

TEST_CASE("torch-views: a reshape that splits an axis of a transposed tensor copies nothing") {
  struct Wanted {
    std::vector<int64_t> perm, target;
    bool view;
  };
  // x is [2, 12, 5]; its transposes have the strides [60, 1, 5], [5, 60, 1] and [1, 60, 5].
  for (const Wanted& wanted : {Wanted{{0, 2, 1}, {2, 5, 3, 4}, true},   // 12 into 3 and 4
                               Wanted{{0, 2, 1}, {2, 5, 1, 12}, true},  // an axis of one
                               Wanted{{0, 2, 1}, {2, 60}, false},       // 5 and 12 are not in order
                               Wanted{{0, 2, 1}, {10, 12}, false},      // nor are 2 and 5
                               Wanted{{1, 0, 2}, {3, 4, 2, 5}, true},   //
                               Wanted{{1, 0, 2}, {12, 10}, false},      //
                               Wanted{{2, 0, 1}, {5, 24}, true},       // 2 and 12 follow each other
                               Wanted{{2, 0, 1}, {5, 4, 6}, true}}) {  // merged and split again
    PassCase graph;
    graph.input("x", {2, 12, 5});
    graph.ints("target", wanted.target);
    graph.op("Transpose", {"x"}, "t", {{"perm", wanted.perm}});
    graph.op("Reshape", {"t", "target"}, "r");
    graph.output("r");
    const Graph& result = graph.after({"torch-views"});
    INFO(wanted.target.size() << " axes, first " << wanted.target[0]);
    CHECK((result.op(OpId(0)).op_class == OpClass::kView) == wanted.view);
  }
}

}  // namespace
}  // namespace dfsim
