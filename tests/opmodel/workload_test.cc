#include "opmodel/workload.h"
#include "opmodel/cached_model.h"

#include <catch2/catch.hpp>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/infer.h"
#include "graphs/passes/cleanup/prune.h"
#include "opmodel/sol.h"
#include "tests/opmodel/graph_parts.h"

namespace dfsim {
namespace {

Workload workload_of(GraphBuilder& builder) {
  REQUIRE(infer_shapes(builder, {}).ok());
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  const auto pruned = prune(*graph);
  REQUIRE(pruned.ok());
  auto workload = make_workload(pruned->graph);
  REQUIRE(workload.ok());
  return std::move(*workload);
}

TEST_CASE("Workload: equal ops share a cost row, and different shapes do not") {
  GraphBuilder builder;
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {2, 3});
  builder.mark_input(x);
  const TensorId a = op(builder, "Relu", {x}, "a");
  const TensorId b = op(builder, "Relu", {a}, "b");
  const TensorId c = op(builder, "Transpose", {b}, "c");
  builder.mark_output(op(builder, "Relu", {c}, "d"));
  const Workload workload = workload_of(builder);
  REQUIRE(workload.graph.task_count() == 4);
  CHECK(workload.rows.size() == 3);
  CHECK(workload.graph.cost_row(TaskId(0)) == workload.graph.cost_row(TaskId(1)));
  CHECK(workload.graph.cost_row(TaskId(0)) != workload.graph.cost_row(TaskId(3)));
  CHECK(workload.rows[1].attributes == "perm=1,0");
}

TEST_CASE("Workload: readers of a view read the data that it shows") {
  GraphBuilder builder;
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {2, 3});
  builder.mark_input(x);
  const TensorId a = op(builder, "Relu", {x}, "a");
  const TensorId flat = op(builder, "Flatten", {a}, "flat");
  builder.mark_output(op(builder, "Sigmoid", {flat}, "y"));
  const Workload workload = workload_of(builder);
  REQUIRE(workload.graph.task_count() == 2);
  REQUIRE(workload.graph.edge_count() == 1);
  CHECK(workload.graph.edges()[0].from == TaskId(0));
  CHECK(workload.graph.edges()[0].to == TaskId(1));
  CHECK(workload.graph.edge_bytes(workload.graph.edges()[0]) == 24);

  // The host pays for the view when it dispatches the op behind it.
  RuntimeSpec runtime;
  runtime.dispatch_ns = 100;
  CHECK(dispatch_times(workload, runtime).empty());
  runtime.view_dispatch_ns = 7;
  CHECK(dispatch_times(workload, runtime) == std::vector<TimeNs>{100, 107});
}

TEST_CASE("Workload: a view that is an output keeps its source alive") {
  GraphBuilder builder;
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {2, 3});
  builder.mark_input(x);
  const TensorId a = op(builder, "Relu", {x}, "a");
  builder.mark_output(op(builder, "Flatten", {a}, "flat"));
  const Workload workload = workload_of(builder);
  REQUIRE(workload.graph.data_count() == 1);
  CHECK(workload.graph.data_is_output(DataId(0)));
}

TEST_CASE("Workload: a weight counts once, with its first reader, also through a transpose") {
  GraphBuilder builder;
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {2, 4});
  const TensorId w = tensor(builder, "w", TensorRole::kWeight, {8, 4});
  builder.mark_input(x);
  const TensorId wt = op(builder, "Transpose", {w}, "wt");
  const TensorId h = op(builder, "MatMul", {x, wt}, "h");
  const TensorId back = op(builder, "MatMul", {h, w}, "back");
  builder.mark_output(op(builder, "MatMul", {back, wt}, "y"));
  const Workload workload = workload_of(builder);
  REQUIRE(workload.graph.task_count() == 3);
  CHECK(workload.weight_bytes == 8 * 4 * 4);
  CHECK(workload.graph.resident_bytes(TaskId(0)) == 128);
  CHECK(workload.graph.resident_bytes(TaskId(1)) == 0);
  CHECK(workload.graph.resident_bytes(TaskId(2)) == 0);
}

TEST_CASE("Workload: canonical attributes of a convolution include the defaults") {
  GraphBuilder builder;
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {1, 3, 8, 8});
  const TensorId w = tensor(builder, "w", TensorRole::kWeight, {16, 3, 3, 3});
  builder.mark_input(x);
  const TensorId y = op(builder, "Conv", {x, w}, "y");
  builder.op(OpId(0)).attributes.set("auto_pad", std::string("SAME_UPPER"));
  builder.op(OpId(0)).attributes.set("strides", std::vector<int64_t>{2, 2});
  builder.mark_output(y);
  const Workload workload = workload_of(builder);
  // 8 -> 4 with stride 2 and kernel 3 needs 3 * 2 + 3 - 8 = 1 row, put at the end.
  CHECK(workload.rows[0].attributes ==
        "dilations=1,1;group=1;kernel_shape=3,3;pads=0,0,1,1;strides=2,2");
}

TEST_CASE("Workload: convolutions in blocks have whole blocks of channels and name activations") {
  GraphBuilder builder;
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {1, 24, 8, 8});
  const TensorId w = tensor(builder, "w", TensorRole::kWeight, {40, 24, 1, 1});
  const TensorId d = tensor(builder, "d", TensorRole::kWeight, {40, 1, 3, 3});
  const TensorId b = tensor(builder, "b", TensorRole::kWeight, {40});
  builder.mark_input(x);
  const TensorId y = op(builder, "Conv", {x, w}, "y");
  const TensorId z = op(builder, "Conv", {y, d, b}, "z");
  builder.mark_output(z);
  builder.op(OpId(0)).domain = kMicrosoftBlocked;
  builder.op(OpId(0)).attributes.set("activation", std::string("HardSwish"));
  builder.op(OpId(1)).domain = kMicrosoftBlocked;
  builder.op(OpId(1)).attributes.set("group", int64_t{40});
  for (const TensorId blocked : {x, y, z}) {
    builder.tensor(blocked).channel_block = 16;
  }
  const Workload workload = workload_of(builder);
  using Extents = std::vector<std::vector<int64_t>>;
  REQUIRE(workload.rows.size() == 2);
  const OpDescriptor& pointwise = workload.rows[0];
  CHECK(pointwise.input_extents == Extents{{1, 32, 8, 8}, {48, 32, 1, 1}});
  CHECK(pointwise.output_extents == Extents{{1, 48, 8, 8}});
  CHECK(pointwise.attributes ==
        "activation=HardSwish;dilations=1,1;group=1;kernel_shape=1,1;pads=0,0,0,0;strides=1,1");
  CHECK(pointwise.work.macs == 40 * 24 * 64);  // the model's, not those with zeros
  const OpDescriptor& depthwise = workload.rows[1];
  CHECK(depthwise.input_extents == Extents{{1, 48, 8, 8}, {48, 1, 3, 3}, {48}});
  CHECK(depthwise.attributes == "dilations=1,1;group=48;kernel_shape=3,3;pads=0,0,0,0;strides=1,1");
}

TEST_CASE("Workload: a running sum and RoiAlign tell what their times depend on") {
  GraphBuilder builder;
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {1, 3, 8, 8});
  const TensorId axis =
      tensor(builder, "axis", TensorRole::kConstant, Shape::scalar(), DType::kInt64);
  builder.set_constant(axis, ConstValue{DType::kInt64, {}, {-2}, {}});
  const TensorId regions = tensor(builder, "regions", TensorRole::kWeight, {5, 4});
  const TensorId images = tensor(builder, "images", TensorRole::kWeight, {5});
  builder.mark_input(x);
  builder.mark_output(op(builder, "CumSum", {x, axis}, "sum"));
  const TensorId aligned = op(builder, "RoiAlign", {x, regions, images}, "aligned");
  builder.op(OpId(1)).attributes.set("sampling_ratio", int64_t{2});
  builder.mark_output(aligned);
  const Workload workload = workload_of(builder);
  REQUIRE(workload.rows.size() == 2);
  CHECK(workload.rows[0].attributes == "axis=2");
  CHECK(workload.rows[1].attributes == "sampling_ratio=2");
}

TEST_CASE("Workload: several scales tell their axis unless it is the innermost one") {
  const auto attributes = [](const Shape& scale, int64_t axis) {
    GraphBuilder builder;
    const TensorId x = tensor(builder, "x", TensorRole::kActivation, {4, 6, 8});
    const TensorId scales = tensor(builder, "scale", TensorRole::kWeight, scale);
    builder.mark_input(x);
    builder.mark_output(op(builder, "QuantizeLinear", {x, scales}, "y"));
    builder.op(OpId(0)).attributes.set("axis", axis);
    return workload_of(builder).rows.at(0).attributes;
  };
  CHECK(attributes({6}, 1) == "axis=1");
  CHECK(attributes({4}, -3) == "axis=0");
  CHECK(attributes({8}, 2).empty());
  CHECK(attributes({1}, 0).empty());
  CHECK(attributes(Shape::scalar(), 0).empty());
}

TEST_CASE("Workload: the cost table has every row on every device") {
  GraphBuilder builder;
  const TensorId x = tensor(builder, "x", TensorRole::kActivation, {1000});
  builder.mark_input(x);
  builder.mark_output(op(builder, "Relu", {x}, "y"));
  const Workload workload = workload_of(builder);
  Platform platform;
  for (const double bandwidth : {1e9, 2e9}) {
    DeviceSpec device;
    device.peaks = {{DType::kFloat32, 1e12, 0}};
    device.memory_bytes_per_s = bandwidth;
    platform.devices.push_back(device);
  }
  const auto table =
      make_cost_table(workload.rows, workload.weight_bytes, platform, *make_sol_model());
  REQUIRE(table.ok());
  CHECK(table->time_ns(0, DeviceId(size_t{0})) == 8000);
  CHECK(table->time_ns(0, DeviceId(1)) == 4000);
}

TEST_CASE("Kinds of devices: all figures that a cost model reads tell two devices apart") {
  DeviceSpec device;
  device.name = "gpu0";
  device.model = "chip";
  device.peaks = {{.dtype = DType::kFloat32, .flops_per_s = 1e13}};
  device.memory_bytes_per_s = 1e12;
  DeviceSpec other = device;
  other.name = "gpu1";
  CHECK(device_kind(other) == device_kind(device));

  other.sustained_memory_bytes_per_s = 9e11;
  CHECK(device_kind(other) != device_kind(device));
  other = device;
  other.sustained = {{.dtype = DType::kFloat32, .flops_per_s = 8e12}};
  CHECK(device_kind(other) != device_kind(device));
  other = device;
  other.peaks[0].flops_per_s = 2e13;
  CHECK(device_kind(other) != device_kind(device));
}

}  // namespace
}  // namespace dfsim
