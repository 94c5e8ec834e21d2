// Linear resizing by a kernel that walks through channels: the law by hand.
#include "opmodel/model/laws/torch/serial_images.h"

#include <catch2/catch.hpp>

#include "opmodel/model/model_manifest.h"

namespace dfsim {
namespace {

// Two images of 100 channels, 8 x 8 pixels to `side` x `side`.
OpDescriptor resize_to(int64_t side) {
  OpDescriptor op;
  op.op_type = "Resize";
  op.op_class = OpClass::kDataMovement;
  op.dtype = DType::kFloat16;
  op.attributes = "coordinates=half_pixel;mode=linear;serial_images=1";
  op.input_extents = {{2, 100, 8, 8}};
  op.output_extents = {{2, 100, side, side}};
  op.input_dtypes = op.output_dtypes = {DType::kFloat16};
  return op;
}

// One unit at 1 GHz, a launch of 2 us.
DeviceSpec resize_board() {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.compute_units = 1;
  gpu.clock_hz = 1e9;
  gpu.l2_bytes = 1'000'000'000;
  gpu.launch_overhead_ns = 2'000;
  return gpu;
}

OpCost after_law(const OpDescriptor& op, const DeviceSpec& device,
                 CostSource source = CostSource::kPredicted) {
  OpCost cost;
  cost.time_ns = cost.low_ns = cost.high_ns = 7;
  cost.source = source;
  apply_serial_images(op, device, &cost);
  return cost;
}

TEST_CASE("Serial images: a channel costs the latency of the cache, and more pixels more walks") {
  // 200 channels of 360 cycles; 1,024 pixels are one walk of four blocks.
  CHECK(after_law(resize_to(32), resize_board()).time_ns == 2'000 + 200 * 360);
  CHECK(after_law(resize_to(33), resize_board()).time_ns == 2'000 + 2 * 200 * 360);
  CHECK(after_law(resize_to(32), resize_board()).source == CostSource::kPrior);
  CHECK(after_law(resize_to(32), resize_board()).low_ns <
        after_law(resize_to(32), resize_board()).time_ns);
}

TEST_CASE("Serial images: images that the cache does not hold cost the latency of the memory") {
  DeviceSpec small = resize_board();
  small.l2_bytes = 1'000;
  CHECK(after_law(resize_to(32), small).time_ns == 2'000 + 200 * 820);
}

TEST_CASE("Serial images: a measured time stays, as do other kernels and devices") {
  CHECK(after_law(resize_to(32), resize_board(), CostSource::kMeasured).time_ns == 7);
  OpDescriptor plain = resize_to(32);
  remove_serial_mark(&plain);
  CHECK(plain.attributes == "coordinates=half_pixel;mode=linear");
  CHECK(after_law(plain, resize_board()).time_ns == 7);
  DeviceSpec cpu = resize_board();
  cpu.type = DeviceType::kCpu;
  CHECK(after_law(resize_to(32), cpu).time_ns == 7);
  DeviceSpec without_clock = resize_board();
  without_clock.clock_hz = 0;
  CHECK(after_law(resize_to(32), without_clock).time_ns == 7);
}

TEST_CASE("Serial images: other kernels resemble elementwise ones, unless rows are about them") {
  OpDescriptor plain = resize_to(32);
  remove_serial_mark(&plain);
  CHECK(resizes_in_parallel(plain));
  CHECK_FALSE(resizes_in_parallel(resize_to(32)));
  const std::vector<OpDescriptor> ops = {plain};
  CHECK(as_learned(ModelManifest(), ops, DeviceType::kGpu)[0].op_type == "compiled.pointwise");
  CHECK(as_learned(ModelManifest(), ops, DeviceType::kCpu).empty());
  ModelManifest knows;
  knows.parts.resize(1);
  knows.parts[0].forms = {{"Resize linear half_pixel float16", 100}};
  CHECK(as_learned(knows, ops, DeviceType::kGpu)[0].op_type == "Resize");
  CHECK(after_law(plain, resize_board()).high_ns == 14);
  OpDescriptor nearest = plain;
  nearest.attributes = "coordinates=asymmetric;mode=nearest";
  CHECK_FALSE(resizes_in_parallel(nearest));
}

TEST_CASE("Serial images: a model is asked without the mark, which no profile has") {
  const std::vector<OpDescriptor> ops = {resize_to(32)};
  const std::vector<OpDescriptor> learned = as_learned(ModelManifest(), ops, DeviceType::kGpu);
  REQUIRE(learned.size() == 1);
  CHECK(learned[0].attributes == "coordinates=half_pixel;mode=linear");
}

}  // namespace
}  // namespace dfsim
