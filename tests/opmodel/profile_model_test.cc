#include "opmodel/train/profile_model.h"

#include <catch2/catch.hpp>

#include "graphs/ops/infer.h"
#include "tests/opmodel/graph_parts.h"
#include "tests/opmodel/synthetic_profile.h"

namespace dfsim {
namespace {

// conv1: a convolution of stride 2 and dilation 2, which its shapes alone do not tell; clip: a Clip
// without a minimum.
Graph model() {
  GraphBuilder builder;
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {1, 4, 32, 32});
  const TensorId w = tensor(builder, "w", TensorRole::kWeight, {8, 4, 3, 3});
  const TensorId most = tensor(builder, "most", TensorRole::kWeight, Shape{});
  builder.mark_input(x);
  Op conv;
  conv.name = "conv1";
  conv.op_type = "Conv";
  conv.version = 17;
  conv.attributes.set("strides", std::vector<int64_t>{2, 2});
  conv.attributes.set("dilations", std::vector<int64_t>{2, 2});
  conv.attributes.set("pads", std::vector<int64_t>{2, 2, 2, 2});
  conv.inputs = {x, w};
  conv.outputs = {builder.tensor_by_name("y")};
  REQUIRE(builder.add_op(std::move(conv)).ok());
  Op clip;
  clip.name = "clip";
  clip.op_type = "Clip";
  clip.version = 17;
  clip.inputs = {builder.find_tensor("y"), TensorId(), most};
  clip.outputs = {builder.tensor_by_name("z")};
  REQUIRE(builder.add_op(std::move(clip)).ok());
  builder.mark_output(builder.find_tensor("z"));
  REQUIRE(infer_shapes(builder, {}).ok());
  auto graph = builder.build();
  REQUIRE(graph.ok());
  return std::move(*graph);
}

void add_named(Profile& profile, const std::string& name, const std::string& type,
               const TensorList& inputs, const TensorList& outputs) {
  ProfileRow row = make_row(profile, type, OpClass::kOpaque, inputs, outputs, 10);
  row.name = profile.intern(name);
  profile.add(row);
}

TEST_CASE("the optimised model gives attributes, gaps and shapes to the rows it names") {
  const Graph graph = model();
  Profile profile;
  const TensorSpec bytes = {DType::kUInt8, {16384}, "BYTES"};
  add_named(profile, "other", "Relu", {f32({4})}, {f32({4})});
  add_named(profile, "conv1", "Conv", {f32({2, 4, 32, 32}), f32({8, 4, 3, 3})},
            {f32({2, 8, 16, 16})});
  add_named(profile, "conv1", "Conv", {bytes}, {bytes});
  add_named(profile, "clip", "Clip", {f32({1, 8, 16, 16}), f32({})}, {f32({1, 8, 16, 16})});
  add_named(profile, "clip", "Add", {f32({4})}, {f32({4})});  // another op of that name
  CHECK(complete_from_graph(graph, &profile) == 3);
  REQUIRE(profile.size() == 5);
  CHECK(profile.text(profile.row(0).name) == "other");
  CHECK(profile.text(profile.row(0).attributes).empty());
  const ProfileRow& conv = profile.row(1);
  CHECK(profile.text(conv.attributes) ==
        "dilations=2,2;group=1;kernel_shape=3,3;pads=2,2,2,2;strides=2,2");
  CHECK(conv.op_class == OpClass::kConv);
  // What ran had batch 2, whatever the file says.
  CHECK(profile.tensors(conv.inputs)[0].extents == std::vector<int64_t>{2, 4, 32, 32});
  CHECK(profile.tensors(profile.row(2).inputs) ==
        TensorList{f32({1, 4, 32, 32}), f32({8, 4, 3, 3})});
  CHECK(profile.tensors(profile.row(2).outputs) == TensorList{f32({1, 8, 16, 16})});
  const TensorList& clip = profile.tensors(profile.row(3).inputs);
  REQUIRE(clip.size() == 3);
  CHECK(clip[1].extents == std::vector<int64_t>{-1});
  CHECK(profile.text(profile.row(4).op_type) == "Add");
  CHECK(profile.row(4).op_class == OpClass::kOpaque);
}

}  // namespace
}  // namespace dfsim
