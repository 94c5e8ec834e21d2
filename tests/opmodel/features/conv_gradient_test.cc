// Gradients of convolutions: the filter's has the geometry of the convolution under a kind of its
// own, the image's is asked about as the convolution.
#include "opmodel/features/conv_gradient.h"

#include <catch2/catch.hpp>

#include "opmodel/features/op_geometry.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/train/row_bounds.h"

namespace dfsim {
namespace {

// 32 images of 56 x 56 with 64 channels, 128 filters of 3 x 3.
OpDescriptor filter_gradient() {
  OpDescriptor op;
  op.op_type = "tensorflow.ConvFilterGrad";
  op.op_class = OpClass::kConv;
  op.dtype = DType::kFloat16;
  op.input_extents = {{32, 64, 56, 56}, {32, 128, 56, 56}};
  op.output_extents = {{128, 64, 3, 3}};
  op.input_dtypes = {DType::kFloat16, DType::kFloat16};
  op.output_dtypes = {DType::kFloat16};
  op.attributes = "dilations=1,1;group=1;kernel_shape=3,3;pads=1,1,1,1;strides=1,1";
  return op;
}

TEST_CASE("Filter gradient: has the multiply-adds and bytes of the convolution") {
  const OpGeometry gradient = geometry_of(filter_gradient());
  CHECK(gradient.family == Family::kConv);
  CHECK(gradient.kind == "dense-filter-gradient");
  CHECK(gradient.flops == 2.0 * 32 * 128 * 56 * 56 * 64 * 9);
  CHECK(gradient.dims[dim::kKH] == 3);
  CHECK(gradient.dims[dim::kO] == 128);
  CHECK(gradient.bytes == 2.0 * (32 * 64 * 56 * 56 + 32 * 128 * 56 * 56 + 128 * 64 * 9));
  const OpGeometry forward = geometry_of(forward_convolution(filter_gradient()));
  CHECK(forward.kind == "dense");
  CHECK(forward.flops == gradient.flops);
  CHECK(forward.bytes == gradient.bytes);
  CHECK(forward.key != gradient.key);  // a time measured for one does not stand for the other
}

TEST_CASE("Filter gradient: a strided one is no slower than its arithmetic") {
  OpDescriptor op = filter_gradient();
  op.input_extents[1] = {32, 128, 28, 28};
  op.attributes = "dilations=1,1;group=1;kernel_shape=3,3;pads=1,1,1,1;strides=2,2";
  DeviceSpec device;
  device.model = "NPU";
  device.type = DeviceType::kNpu;
  device.peaks = {{DType::kFloat16, 8e12, 256e12}};
  device.memory_bytes_per_s = 1.2e12;
  const double flops = 2.0 * 32 * 128 * 28 * 28 * 64 * 9;
  CHECK(least_time_us(geometry_of(op), device) >= flops / 256e12 * 1e6 * 0.999);
  CHECK(least_time_us(geometry_of(op), device) <= 2 * flops / 256e12 * 1e6 + 100);
}

// The gradient of the image in the same step, as the training graph has it.
OpDescriptor input_gradient() {
  OpDescriptor op = filter_gradient();
  op.op_type = "ConvTranspose";
  op.input_extents = {{32, 128, 56, 56}, {128, 64, 3, 3}};
  op.output_extents = {{32, 64, 56, 56}};
  op.attributes =
      "input_gradient=1;dilations=1,1;group=1;kernel_shape=3,3;output_padding=0,0;"
      "pads=1,1,1,1;strides=1,1";
  return op;
}

TEST_CASE("Gradients: the image's has a kind of its own, and a model that knows it is asked") {
  const OpGeometry gradient = geometry_of(input_gradient());
  CHECK(gradient.kind == "dense-image-gradient");
  CHECK(gradient.flops == 2.0 * 32 * 128 * 56 * 56 * 64 * 9);
  CHECK(gradient.key != geometry_of(filter_gradient()).key);
  ModelManifest manifest;
  manifest.parts.resize(1);
  manifest.parts[0].kind = "dense";
  const std::vector<OpDescriptor> ops = {input_gradient()};
  CHECK(as_learned(manifest, ops, DeviceType::kGpu)[0].op_type == "Conv");
  manifest.parts[0].kind = "dense-image-gradient";
  CHECK(as_learned(manifest, ops, DeviceType::kGpu)[0].op_type == "ConvTranspose");
}

TEST_CASE("Filter gradient: a model that has not learned it is asked about the convolution") {
  ModelManifest manifest;
  manifest.parts.resize(1);
  manifest.parts[0].kind = "dense";
  const std::vector<OpDescriptor> ops = {filter_gradient()};
  CHECK(as_learned(manifest, ops, DeviceType::kGpu)[0].op_type == "Conv");
  CHECK(as_learned(manifest, ops, DeviceType::kGpu)[0].input_extents[1] ==
        ops[0].output_extents[0]);
  manifest.parts[0].kind = "dense-filter-gradient";
  CHECK(as_learned(manifest, ops, DeviceType::kGpu)[0].op_type == "tensorflow.ConvFilterGrad");
}

TEST_CASE("Input gradient: every model is asked about the convolution, a layer as such is not") {
  const OpDescriptor forward = forward_convolution(input_gradient());
  const OpDescriptor same = forward_convolution(filter_gradient());
  CHECK(forward.op_type == "Conv");
  CHECK(forward.input_extents == same.input_extents);
  CHECK(forward.output_extents == same.output_extents);
  CHECK(forward.attributes == same.attributes);
  OpDescriptor layer = input_gradient();
  layer.attributes = layer.attributes.substr(layer.attributes.find(';') + 1);
  CHECK_FALSE(is_input_gradient(layer));
  ModelManifest manifest;
  CHECK(as_learned(manifest, std::vector<OpDescriptor>{layer}, DeviceType::kGpu).empty());
  CHECK(
      as_learned(manifest, std::vector<OpDescriptor>{layer, input_gradient()}, DeviceType::kGpu)[1]
          .op_type == "Conv");
}

TEST_CASE(
    "Convolution gradients: a cost of the convolution is extrapolated and its interval wide") {
  OpCost cost;
  cost.time_ns = 1600;
  cost.low_ns = 1500;
  cost.high_ns = 1700;
  cost.source = CostSource::kMeasured;
  widen_for_gradient(&cost);
  CHECK(cost.time_ns == 1600);
  CHECK(cost.low_ns == 1000);
  CHECK(cost.high_ns == 2560);
  CHECK(cost.source == CostSource::kExtrapolated);
  cost.source = CostSource::kPrior;
  widen_for_gradient(&cost);
  CHECK(cost.source == CostSource::kPrior);
}

}  // namespace
}  // namespace dfsim
