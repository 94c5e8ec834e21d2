// Transpositions: where they meet, what goes before them, when they copy; PyTorch's group
// normalisation.
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
