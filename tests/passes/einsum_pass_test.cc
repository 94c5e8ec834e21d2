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

}  // namespace
}  // namespace dfsim
