// Laws of training kernels on a board made by hand: 100 units at 1 GHz, 1 TB/s, launches of 2 us.
#include "opmodel/model/laws/training_kernels.h"

#include <catch2/catch.hpp>

#include "opmodel/model/laws/torch/depthwise_kernels.h"

namespace dfsim {
namespace {

DeviceSpec board() {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.memory_bytes_per_s = gpu.sustained_memory_bytes_per_s = 1e12;
  gpu.launch_overhead_ns = 2000;
  gpu.compute_units = 100;
  gpu.clock_hz = 1e9;
  gpu.peaks = {{DType::kFloat32, 1e12, 0}, {DType::kFloat16, 1e12, 4e12}};
  return gpu;
}

OpDescriptor forward_norm(const std::vector<int64_t>& x, DType dtype = DType::kFloat32) {
  OpDescriptor op;
  op.op_type = "BatchNormalization";
  op.op_class = OpClass::kNorm;
  op.dtype = dtype;
  op.input_extents = {x, {x[1]}};
  op.input_dtypes = {dtype, DType::kFloat32};
  op.output_extents = {x};
  op.output_dtypes = {dtype};
  op.attributes = "own_statistics=1";
  return op;
}

OpDescriptor gradient_of(const std::string& norm, const std::vector<int64_t>& x) {
  OpDescriptor op = forward_norm(x);
  op.op_type = "dfsim.training.NormGrad";
  op.attributes = "of=" + norm;
  op.input_extents = {x, x, {x.back()}};
  op.input_dtypes = {DType::kFloat32, DType::kFloat32, DType::kFloat32};
  return op;
}

// The gradient of 3 x 3 filters, one per channel: 57,600 FLOPs.
OpDescriptor depthwise_gradient(DType dtype) {
  OpDescriptor op;
  op.op_type = "tensorflow.ConvFilterGrad";
  op.op_class = OpClass::kConv;
  op.dtype = dtype;
  op.input_extents = {{1, 32, 10, 10}, {1, 32, 10, 10}};
  op.output_extents = {{32, 1, 3, 3}};
  op.input_dtypes = {dtype, dtype};
  op.output_dtypes = {dtype};
  op.attributes = "dilations=1,1;group=32;kernel_shape=3,3;pads=1,1,1,1;strides=1,1";
  return op;
}

OpCost cost_of(const OpDescriptor& op, double time_us, const DeviceSpec& device = board(),
               const ModelManifest& manifest = {}) {
  OpCost cost;
  cost.time_ns = cost.low_ns = cost.high_ns = static_cast<TimeNs>(time_us * 1e3);
  cost.source = CostSource::kMeasured;
  apply_training_kernel(op, device, manifest, &cost);
  return cost;
}

ModelManifest manifest_with(const std::string& kind) {
  ModelManifest manifest;
  manifest.parts.resize(1);
  manifest.parts[0].kind = kind;
  return manifest;
}

TEST_CASE("TrainingKernels: small channels wait for the units that work them off") {
  // 2 us launch + 0.99 + 2,250 cycles; memory would take 1.28 MB / 0.91 TB/s = 1.4 us.
  CHECK(batch_norm_training_us(forward_norm({16, 100, 10, 10}), board()) == Approx(5.24));
  CHECK(batch_norm_training_us(forward_norm({16, 200, 10, 10}), board()) == Approx(7.49));
}

TEST_CASE("TrainingKernels: a channel that no block keeps is walked through") {
  // 640,000 elements at 1.10 and 1.30 cycles.
  CHECK(batch_norm_training_us(forward_norm({64, 10, 100, 100}), board()) == Approx(706.99));
  CHECK(batch_norm_training_us(forward_norm({64, 10, 100, 100}, DType::kFloat16), board()) ==
        Approx(834.99));
  // With 100 channels three passes over 256 MB take longer.
  CHECK(batch_norm_training_us(forward_norm({64, 100, 100, 100}), board()) ==
        Approx(2.99 + 768 / 0.91));
  // Gradients: 2.99 cycles.
  CHECK(batch_norm_training_us(gradient_of("BatchNormalization", {64, 10, 100, 100}), board()) ==
        Approx(3.48 + 640 * 2.99));
}

TEST_CASE("TrainingKernels: with channels last memory is the only limit") {
  OpDescriptor op = forward_norm({64, 10, 100, 100});
  op.attributes = "channels_last=1;own_statistics=1";
  // Three passes over 25.6 MB at 0.85 TB/s, 2 us launch, 0.99.
  CHECK(batch_norm_training_us(op, board()) == Approx(2.99 + 76.8 / 0.85));
}

TEST_CASE("TrainingKernels: an inference time never stands for batch statistics") {
  const OpCost cost = cost_of(forward_norm({64, 10, 100, 100}), 50);
  CHECK(cost.time_ns == 706'990);
  CHECK(cost.source == CostSource::kPrior);
  CHECK(cost.low_ns < cost.time_ns);
  CHECK(cost.high_ns > cost.time_ns);
  OpDescriptor inference = forward_norm({64, 10, 100, 100});
  inference.attributes.clear();
  CHECK(cost_of(inference, 50).time_ns == 50'000);
  CHECK(cost_of(inference, 50).source == CostSource::kMeasured);
}

TEST_CASE("TrainingKernels: many narrow rows bound a layer normalisation's gradients") {
  const OpDescriptor op = gradient_of("LayerNormalization", {10, 1000, 96});
  CHECK(cost_of(op, 10).time_ns == 99'000);  // 2 us launch, 10,000 rows at 9.7 cycles
  CHECK(cost_of(op, 10).source == CostSource::kPrior);
  CHECK(cost_of(op, 200).time_ns == 200'000);
  CHECK(cost_of(op, 200).source == CostSource::kMeasured);
}

TEST_CASE("TrainingKernels: sums for scale and offset read a normalisation's operands again") {
  // Five times 3.84 MB at 1 TB/s; a cache that holds both operands spares the second read.
  CHECK(cost_of(gradient_of("GroupNormalization", {10, 1000, 96}), 10).time_ns == 19'200);
  DeviceSpec cached = board();
  cached.l2_bytes = 8'000'000;
  CHECK(cost_of(gradient_of("GroupNormalization", {10, 1000, 96}), 10, cached).time_ns == 10'000);
}

TEST_CASE("TrainingKernels: gradients of dense convolutions convert what the convolution did not") {
  OpDescriptor op = depthwise_gradient(DType::kFloat16);
  op.output_extents = {{32, 32, 1, 1}};
  op.attributes = "dilations=1,1;group=1;kernel_shape=1,1;pads=0,0,0,0;strides=1,1";
  OpCost cost;
  cost.time_ns = cost.low_ns = cost.high_ns = 1'000;
  cost.source = CostSource::kPrior;
  apply_training_kernel(op, board(), {}, &cost);
  // Two images of 3,200 elements of 2 bytes, in and out: 25.6 ns, of which a quarter is there.
  CHECK(cost.time_ns == 1'019);
}

TEST_CASE("TrainingKernels: gradients of filters per channel have kernels of their own") {
  const OpDescriptor op = depthwise_gradient(DType::kFloat32);
  const auto own_ns = static_cast<double>(cost_of(op, 1).time_ns);
  CHECK(own_ns == Approx(depthwise_kernel_us(op, board()) * 1e3).margin(1));
  CHECK(static_cast<double>(cost_of(op, 20).time_ns) == own_ns);  // whatever the convolution takes
  OpDescriptor last = depthwise_gradient(DType::kFloat16);
  last.attributes = "channels_last=1;" + last.attributes;
  CHECK(cost_of(last, 10).time_ns == 13'000);
  OpDescriptor dense = depthwise_gradient(DType::kFloat32);
  dense.output_extents = {{32, 32, 3, 3}};
  dense.attributes = "dilations=1,1;group=1;kernel_shape=3,3;pads=1,1,1,1;strides=1,1";
  CHECK(cost_of(dense, 1).time_ns == 1'000);
  OpDescriptor grouped = dense;
  grouped.output_extents = {{32, 8, 3, 3}};
  grouped.attributes = "dilations=1,1;group=4;kernel_shape=3,3;pads=1,1,1,1;strides=1,1";
  CHECK(cost_of(grouped, 10).time_ns == 15'000);
}

TEST_CASE("TrainingKernels: a model of training steps keeps its answers") {
  const OpDescriptor norm = forward_norm({64, 10, 100, 100});
  CHECK(cost_of(norm, 50, board(), manifest_with("dfsim.training.NormGrad")).time_ns == 50'000);
  CHECK(cost_of(depthwise_gradient(DType::kFloat32), 1, board(),
                manifest_with("depthwise-filter-gradient"))
            .time_ns == 1'000);
}

TEST_CASE("TrainingKernels: a model's gradients do not answer for channels last") {
  OpDescriptor last = depthwise_gradient(DType::kFloat32);
  last.attributes = "channels_last=1;" + last.attributes;
  const ModelManifest manifest = manifest_with("depthwise-filter-gradient");
  CHECK(knows_gradient(manifest, depthwise_gradient(DType::kFloat32)));
  CHECK_FALSE(knows_gradient(manifest, last));
  // 28,800 multiply-adds at 0.64 a cycle and unit.
  CHECK(cost_of(last, 0.1, board(), manifest).time_ns == 450);
  CHECK(cost_of(last, 1, board(), manifest).time_ns == 1'000);
  const std::vector<OpDescriptor> ops = {last};
  CHECK(as_learned(manifest, ops, DeviceType::kGpu)[0].op_type == "Conv");
}

TEST_CASE("TrainingKernels: other devices and unknown clocks keep what the model says") {
  DeviceSpec npu = board();
  npu.type = DeviceType::kNpu;
  CHECK(cost_of(forward_norm({64, 10, 100, 100}), 50, npu).time_ns == 50'000);
  DeviceSpec unknown = board();
  unknown.clock_hz = 0;
  CHECK(batch_norm_training_us(forward_norm({64, 10, 100, 100}), unknown) == 0);
  CHECK(cost_of(forward_norm({64, 10, 100, 100}), 50, unknown).time_ns == 50'000);
}

TEST_CASE("TrainingKernels: the model is asked about operators without the marks of a step") {
  const OpDescriptor norm = forward_norm({64, 10, 100, 100});
  const std::vector<OpDescriptor> learned =
      as_learned(ModelManifest{}, std::vector{norm}, DeviceType::kGpu);
  REQUIRE(learned.size() == 1);
  CHECK(learned[0].attributes.empty());
  CHECK(learned[0].op_type == "BatchNormalization");
}

}  // namespace
}  // namespace dfsim
