// Which computed shapes ONNX Runtime's ReshapeFusion replaces where the batch is open.
#include "graphs/passes/open/open_dims.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

// Reshapes x [batch, 6, 4, 5] to a shape that joins pieces: a constant, or "axis 0".."axis 3", an
// extent of x. Whether it becomes a constant.
bool is_fused(const std::vector<std::string>& pieces) {
  PassCase graph;
  graph.input("x", {2, 6, 4, 5});
  graph.op("Shape", {"x"}, "shape");
  graph.ints("front", {0});
  std::vector<std::string> joined;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string name = "piece" + std::to_string(i);
    if (pieces[i].starts_with("axis ")) {
      graph.index(name + "/index", std::stoi(pieces[i].substr(5)));
      graph.op("Gather", {"shape", name + "/index"}, name + "/extent");
      graph.op("Unsqueeze", {name + "/extent", "front"}, name);
    } else {
      graph.ints(name, {std::stoi(pieces[i])});
    }
    joined.push_back(name);
  }
  graph.op("Concat", joined, "target", {{"axis", int64_t{0}}});
  graph.op("Reshape", {"x", "target"}, "y");
  graph.output("y");
  const Graph built = graph.built();
  const OpenDims open(built, {{"x", 0, "batch"}});
  const OpId reshape(built.op_count() - 1);
  REQUIRE(built.op(reshape).op_type == "Reshape");
  return open.is_constant_reshape(reshape);
}

TEST_CASE("ReshapeFusion: copies extents of the same axis, and computes one at most") {
  CHECK(is_fused({"axis 0", "axis 1", "20"}));
  CHECK(is_fused({"axis 0", "3", "2", "20"}));
  // One extent of another axis may be the -1, two may not: a new axis in front shifts both.
  CHECK(is_fused({"axis 0", "6", "4", "1", "axis 3"}));
  CHECK_FALSE(is_fused({"axis 0", "1", "6", "axis 2", "axis 3"}));
}

}  // namespace
}  // namespace dfsim
