// Normalisation by the root of the mean square, as exporters write it out.
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

TEST_CASE("simplified-layer-norm: fuses a division by the norm and a product with one over it") {
  for (const double numerator : {0.0, 1.0, 2.0}) {  // 0: x is divided
    PassCase graph;
    graph.input("x", {2, 8, 64});
    graph.weight("w", {64});
    graph.number("two", 2);
    graph.number("eps", 1e-6);
    graph.number("numerator", numerator);
    graph.op("Pow", {"x", "two"}, "square");
    graph.op("ReduceMean", {"square"}, "mean", {{"axes", std::vector<int64_t>{-1}}});
    graph.op("Add", {"mean", "eps"}, "kept");
    graph.op("Sqrt", {"kept"}, "norm");
    if (numerator == 0) {
      graph.op("Div", {"x", "norm"}, "scaled");
    } else {
      graph.op("Div", {"numerator", "norm"}, "inverse");
      graph.op("Mul", {"x", "inverse"}, "scaled");
    }
    graph.op("Mul", {"w", "scaled"}, "y");
    graph.output("y");
    INFO(numerator);
    CHECK(graph.types_after({"simplified-layer-norm"}).size() == (numerator == 2 ? 7 : 1));
  }
}

}  // namespace
}  // namespace dfsim
