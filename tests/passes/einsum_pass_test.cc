// Einsum as the transposes and MatMuls that compute it.
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

PassCase einsum_of(const std::string& equation, const std::vector<std::vector<int64_t>>& operands) {
  PassCase graph;
  std::vector<std::string> names;
  for (size_t i = 0; i < operands.size(); ++i) {
    names.push_back(std::string("x").append(std::to_string(i)));
    graph.input(names.back(), operands[i]);
  }
  graph.op("Einsum", names, "y", {{"equation", equation}});
  graph.output("y");
  return graph;
}

int64_t macs_of(const Graph& graph) { return graph_totals(graph)->macs; }

using Types = std::vector<std::string>;

TEST_CASE("Einsum pass: a plain product is one MatMul") {
  PassCase graph = einsum_of("ij,jk->ik", {{2, 3}, {3, 4}});
  CHECK(graph.types_after({"einsum"}) == Types{"MatMul"});
}

TEST_CASE("Einsum pass: attention scores transpose the keys and keep heads as the batch") {
  PassCase graph = einsum_of("bhid,bhjd->bhij", {{2, 4, 8, 16}, {2, 4, 9, 16}});
  CHECK(graph.types_after({"einsum"}) == Types{"Transpose", "MatMul"});
  PassCase again = einsum_of("bhid,bhjd->bhij", {{2, 4, 8, 16}, {2, 4, 9, 16}});
  CHECK(macs_of(again.after({"einsum"})) == 2 * 4 * 8 * 9 * 16);
}

TEST_CASE("Einsum pass: the result's axes get their order at last") {
  PassCase graph = einsum_of("ibnd,jbnd->ijbn", {{5, 2, 3, 4}, {6, 2, 3, 4}});
  const Graph& lowered = graph.after({"einsum"});
  CHECK(lowered.ops().back().op_type == "Transpose");
  CHECK(macs_of(lowered) == 5 * 6 * 2 * 3 * 4);
}

TEST_CASE("Einsum pass: three operands are two products, and lone labels are summed first") {
  PassCase graph = einsum_of("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}});
  CHECK(graph.types_after({"einsum"}) == Types{"MatMul", "MatMul"});
  PassCase summed = einsum_of("ij,ik->k", {{2, 7}, {2, 3}});
  const Graph& lowered = summed.after({"einsum"});
  CHECK(lowered.op(OpId(0)).op_type == "ReduceSum");
  CHECK(macs_of(lowered) == 2 * 3);
}

TEST_CASE("Einsum pass: hidden axes behind an ellipsis are a batch; diagonals stay") {
  PassCase hidden = einsum_of("...ij,...jk->...ik", {{7, 2, 3}, {7, 3, 4}});
  CHECK(hidden.types_after({"einsum"}) == Types{"MatMul"});
  PassCase diagonal = einsum_of("ii->i", {{3, 3}});
  CHECK(diagonal.types_after({"einsum"}) == Types{"Einsum"});
}

// Types, and the permutations of transposes.
std::vector<std::string> steps_after(PassCase& graph, const std::string& pass) {
  std::vector<std::string> steps;
  for (const Op& op : graph.after({pass}).ops()) {
    const std::vector<int64_t>* perm = op.attributes.get_ints("perm");
    steps.push_back(op.op_type);
    for (const int64_t axis : perm == nullptr ? std::vector<int64_t>() : *perm) {
      steps.back() += " " + std::to_string(axis);
    }
  }
  return steps;
}

// By hand from ONNX Runtime's sources: the axes are b i n d j. The keys become b n d j and then,
// among all five, n d b j i; of n, d, b, j and i only b and i have one element there, but the
// kernel does not look.
TEST_CASE(
    "ONNX Runtime's Einsum: attention scores of one sequence transpose both operands once more") {
  PassCase graph = einsum_of("bind,bjnd->bnij", {{1, 8, 4, 16}, {1, 9, 4, 16}});
  CHECK(steps_after(graph, "ort-einsum") ==
        Types{"Reshape", "Transpose 0 2 3 1", "Reshape", "Transpose 2 1 3 0 4",
              "Transpose 2 3 0 4 1", "Reshape", "Reshape", "MatMul", "Reshape", "Reshape",
              "Transpose 2 0 1 3", "Reshape", "Transpose 1 0", "Reshape"});
  PassCase again = einsum_of("bind,bjnd->bnij", {{1, 8, 4, 16}, {1, 9, 4, 16}});
  CHECK(macs_of(again.after({"ort-einsum"})) == 4 * 8 * 9 * 16);
}

TEST_CASE("ONNX Runtime's Einsum: a plain product only copies its result") {
  PassCase graph = einsum_of("ij,jk->ik", {{2, 3}, {3, 4}});
  const Types steps = steps_after(graph, "ort-einsum");
  CHECK(std::count(steps.begin(), steps.end(), "MatMul") == 1);
  CHECK(std::count(steps.begin(), steps.end(), "Transpose 1 0") == 1);
}

TEST_CASE("ONNX Runtime's Einsum: an axis of one operand alone is summed before its product") {
  PassCase graph = einsum_of("ij,ik->k", {{2, 7}, {2, 3}});
  const Graph& lowered = graph.after({"ort-einsum"});
  const auto sums = std::count_if(lowered.ops().begin(), lowered.ops().end(),
                                  [](const Op& op) { return op.op_type == "ReduceSum"; });
  CHECK(sums == 1);
  CHECK(macs_of(lowered) == 2 * 3);
}

TEST_CASE("ONNX Runtime's Einsum: three operands are two products; diagonals stay") {
  PassCase graph = einsum_of("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}});
  CHECK(macs_of(graph.after({"ort-einsum"})) == 2 * 3 * 4 + 2 * 4 * 5);
  PassCase diagonal = einsum_of("ii->i", {{3, 3}});
  CHECK(diagonal.types_after({"ort-einsum"}) == Types{"Einsum"});
}

}  // namespace
}  // namespace dfsim
