// A row of a profile and the op of a graph that it measured must look the same to a model.
#include "opmodel/train/profile_ops.h"

#include <catch2/catch.hpp>

#include "graphs/ops/infer.h"
#include "graphs/passes/cleanup/prune.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/workload.h"
#include "tests/opmodel/graph_parts.h"
#include "tests/opmodel/synthetic_profile.h"

namespace dfsim {
namespace {

// The descriptor of a graph's only op.
OpDescriptor of_graph(const std::string& type, const std::vector<Shape>& activations,
                      const std::vector<Shape>& weights, const Attributes& attributes,
                      const std::string& domain = "") {
  GraphBuilder builder;
  Op op;
  op.op_type = type;
  op.domain = domain;
  op.version = domain.empty() ? 17 : 1;
  op.attributes = attributes;
  for (size_t i = 0; i < activations.size(); ++i) {
    op.inputs.push_back(
        tensor(builder, std::string(i + 1, 'x'), TensorRole::kActivation, activations[i]));
    builder.mark_input(op.inputs.back());
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    op.inputs.push_back(tensor(builder, std::string(i + 1, 'w'), TensorRole::kWeight, weights[i]));
  }
  op.outputs = {builder.tensor_by_name("y")};
  REQUIRE(builder.add_op(std::move(op)).ok());
  builder.mark_output(builder.find_tensor("y"));
  REQUIRE(infer_shapes(builder, {}).ok());
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  const auto pruned = prune(*graph);
  REQUIRE(pruned.ok());
  const auto workload = make_workload(pruned->graph);
  REQUIRE(workload.ok());
  REQUIRE(workload->rows.size() == 1);
  return workload->rows[0];
}

void check_equal(const OpDescriptor& graph, const std::string& type, OpClass op_class,
                 const TensorList& inputs, const TensorList& outputs,
                 const std::string& attributes) {
  Profile profile;
  const ProfileRow row = make_row(profile, type, op_class, inputs, outputs, 10, attributes);
  const OpDescriptor op = descriptor_of(profile, row);
  CHECK(op.op_type == graph.op_type);
  CHECK(op.op_class == graph.op_class);
  CHECK(op.attributes == graph.attributes);
  CHECK(op.dtype == graph.dtype);
  CHECK(op.input_extents == graph.input_extents);
  CHECK(op.output_extents == graph.output_extents);
  CHECK(op.input_dtypes == graph.input_dtypes);
  CHECK(op.output_dtypes == graph.output_dtypes);
  CHECK(op.hash() == graph.hash());
  const OpGeometry a = geometry_of(op);
  const OpGeometry b = geometry_of(graph);
  CHECK(a.key == b.key);
  CHECK(a.flops == b.flops);
  CHECK(a.bytes == b.bytes);
}

TEST_CASE("Profile ops: rows of a profile and ops of a graph give equal descriptors") {
  Attributes conv;
  conv.set("strides", std::vector<int64_t>{2, 2});
  conv.set("pads", std::vector<int64_t>{1, 1, 1, 1});
  check_equal(of_graph("Conv", {{2, 8, 16, 16}}, {{32, 8, 3, 3}, {32}}, conv), "Conv",
              OpClass::kConv, {f32({2, 8, 16, 16}), f32({32, 8, 3, 3}), f32({32})},
              {f32({2, 32, 8, 8})},
              "dilations=1,1;group=1;kernel_shape=3,3;pads=1,1,1,1;strides=2,2");
  Attributes gemm;
  gemm.set("transB", int64_t{1});
  check_equal(of_graph("Gemm", {{4, 64}}, {{128, 64}, {128}}, gemm), "Gemm", OpClass::kMatMul,
              {f32({4, 64}), f32({128, 64}), f32({128})}, {f32({4, 128})}, "transA=0;transB=1");
  check_equal(of_graph("MatMul", {{3, 4, 64}, {3, 64, 32}}, {}, {}), "MatMul", OpClass::kMatMul,
              {f32({3, 4, 64}), f32({3, 64, 32})}, {f32({3, 4, 32})}, "");
  check_equal(of_graph("Relu", {{4, 64}}, {}, {}), "Relu", OpClass::kElementwise, {f32({4, 64})},
              {f32({4, 64})}, "");
  check_equal(of_graph("Softmax", {{4, 64}}, {}, {}), "Softmax", OpClass::kSoftmax, {f32({4, 64})},
              {f32({4, 64})}, "axis=1");
}

TEST_CASE(
    "Profile ops: descriptors tell how experts are chosen and stored, and whether scores are "
    "capped") {
  Attributes chosen;
  chosen.set("k", int64_t{2});
  const OpDescriptor plain = of_graph(
      "MoE", {{6, 100}, {6, 4}}, {{4, 50, 100}, {4, 50}, {4, 100, 50}}, chosen, "com.microsoft");
  CHECK(plain.attributes == "accuracy_level=0;bits=32;block_size=0;k=2");
  chosen.set("block_size", int64_t{32});
  chosen.set("expert_weight_bits", int64_t{8});
  const OpDescriptor packed = of_graph("QMoE", {{6, 96}, {6, 4}},
                                       {{4, 64, 96}, {4, 64, 3}, {4, 64}, {4, 96, 64}, {4, 96, 2}},
                                       chosen, "com.microsoft");
  CHECK(packed.attributes == "accuracy_level=0;bits=8;block_size=32;k=2");
  Attributes heads;
  heads.set("num_heads", int64_t{4});
  heads.set("kv_num_heads", int64_t{2});
  const std::vector<Shape> parts = {{1, 8, 64}, {1, 8, 32}, {1, 8, 32}};
  CHECK(of_graph("GroupQueryAttention", parts, {}, heads, "com.microsoft").attributes.empty());
  heads.set("softcap", 30.0F);
  CHECK(of_graph("GroupQueryAttention", parts, {}, heads, "com.microsoft").attributes ==
        "softcap=1");
}

}  // namespace
}  // namespace dfsim
