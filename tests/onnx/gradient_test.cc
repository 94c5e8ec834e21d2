// Gradient of ONNX's training preview: twice the work of what lies between xs and y.
#include <catch2/catch.hpp>

#include "graphs/ops/infer.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

// h = x w, y = sum(h), z = x v; the derivatives of y by x and w.
void network(ModelMaker* maker, const std::string& y) {
  maker->input("x", {2, 8});
  maker->input("w", {8, 4});
  maker->input("v", {8, 100});
  maker->node("MatMul", {"x", "w"}, {"h"});
  maker->node("ReduceSum", {"h"}, {"y"});
  maker->node("MatMul", {"x", "v"}, {"z"});
  auto* gradient = maker->node("Gradient", {"x", "w"}, {"dx", "dw"}, "backward");
  gradient->set_domain("ai.onnx.preview.training");
  auto* xs = gradient->add_attribute();
  xs->set_name("xs");
  xs->set_type(onnx::AttributeProto::STRINGS);
  xs->add_strings("x");
  xs->add_strings("w");
  auto* of = gradient->add_attribute();
  of->set_name("y");
  of->set_type(onnx::AttributeProto::STRING);
  of->set_s(y);
  maker->output("dx");
  maker->output("dw");
  maker->output("z");
  auto* opset = maker->model().add_opset_import();
  opset->set_domain("ai.onnx.preview.training");
  opset->set_version(1);
}

TEST_CASE("Gradient: has the shapes of its xs and twice the work up to y") {
  ModelMaker maker;
  network(&maker, "y");
  const auto model = maker.import();
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(model->report.unresolved.empty());
  CHECK(shape_of(model->graph, "dx") == "2x8");
  CHECK(shape_of(model->graph, "dw") == "8x4");
  for (size_t i = 0; i < model->graph.op_count(); ++i) {
    if (model->graph.op(OpId(i)).op_type == "Gradient") {
      const auto work = op_work(model->graph, OpId(i));
      REQUIRE(work.ok());
      CHECK(work->macs == 2 * (2 * 8 * 4));    // not of x v
      CHECK(work->flops == 2 * (2 * 64 + 8));  // the product and the sum
      CHECK(work->bytes_written == 2 * 4 * (8 + 1));
    }
  }
}

TEST_CASE("Gradient: refuses names that do not exist") {
  ModelMaker maker;
  network(&maker, "loss");
  const auto model = maker.import();
  REQUIRE_FALSE(model.ok());
  CHECK(model.status().message().find("y names 'loss', which is not a tensor") !=
        std::string::npos);
}

}  // namespace
}  // namespace dfsim
