// A model that learned over several devices answers for another one.
#include <catch2/catch.hpp>
#include <cmath>

#include "hardware/sustained_rates.h"
#include "opmodel/model/trained_model.h"
#include "opmodel/sol.h"
#include "tests/opmodel/synthetic_profile.h"
#include "tests/opmodel/train_in_folder.h"

namespace dfsim {
namespace {

DeviceSpec gpu_of(const std::string& name, double tflops, double gb_per_s) {
  DeviceSpec gpu;
  gpu.name = "gpu0";
  gpu.model = name;
  gpu.type = DeviceType::kGpu;
  gpu.peaks = {{DType::kFloat32, tflops * 1e12, 0}};
  gpu.memory_bytes_per_s = gb_per_s * 1e9;
  gpu.l2_bytes = 1 << 22;
  gpu.compute_units = 64;
  gpu.launch_overhead_ns = 3000;
  return gpu;
}

// A device of which all products run at 60 % of the rate it sustains.
double true_us(const DeviceSpec& device, double m, double n, double k) {
  const DeviceSpec sustained = with_sustained_rates(device);
  const double compute = 2 * m * n * k / (sustained.peaks[0].flops_per_s * 0.6) * 1e6;
  const double memory = 4 * (m * k + k * n + m * n) / sustained.memory_bytes_per_s * 1e6;
  return std::max(compute, memory) + 3;
}

TEST_CASE("Prior: what devices have in common answers for another one, the bound stays visible") {
  const std::vector<DeviceSpec> devices = {gpu_of("A", 10, 500), gpu_of("B", 20, 900),
                                           gpu_of("C", 40, 1600)};
  Profile profile;
  Rng rng(3);
  for (const DeviceSpec& device : devices) {
    for (int i = 0; i < 300; ++i) {
      const auto m = static_cast<int64_t>(64 + rng.below(3000));
      const auto n = static_cast<int64_t>(64 + rng.below(3000));
      const auto k = static_cast<int64_t>(64 + rng.below(3000));
      ProfileRow row = make_row(
          profile, "MatMul", OpClass::kMatMul, {f32({m, k}), f32({k, n})}, {f32({m, n})},
          true_us(device, static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)));
      row.device = profile.intern(device.model);
      profile.add(row);
    }
  }
  const TempFolder folder;
  TrainOptions options = fast_options();
  options.prior = true;
  options.known_devices = devices;
  options.keep_lookup = false;
  const TrainReport report = train(profile, folder / "prior", options);
  REQUIRE(report.manifest.parts.size() == 1);
  const ModelPart& part = report.manifest.parts[0];
  REQUIRE(part.left_out.size() == 3);
  for (const auto& [device, errors] : part.left_out) {
    INFO(device);
    CHECK(errors.n >= 290);
    CHECK(errors.mape < 0.15);
  }

  auto loaded = TrainedModel::load(folder / "prior");
  REQUIRE(loaded.ok());
  CHECK((*loaded)->manifest().prior);
  const DeviceSpec unseen = gpu_of("D", 30, 1200);
  OpDescriptor op;
  op.op_type = "MatMul";
  op.op_class = OpClass::kMatMul;
  op.dtype = DType::kFloat32;
  op.input_extents = {{1500, 1200}, {1200, 1700}};
  op.input_dtypes = {op.dtype, op.dtype};
  op.output_extents = {{1500, 1700}};
  op.output_dtypes = {op.dtype};
  op.work.flops = 2 * 1500 * 1700 * 1200LL;
  op.work.dtype = op.dtype;
  op.work.matrix = true;
  OpDescriptor gather = op;  // no data of the class anywhere
  gather.op_type = "Gather";
  gather.op_class = OpClass::kGather;
  const std::vector<OpDescriptor> ops = {op, gather};
  std::vector<OpCost> costs(ops.size());
  REQUIRE((*loaded)->predict(ops, unseen, costs).ok());
  CHECK(costs[0].source == CostSource::kPrior);
  CHECK(costs[0].time_ns == Approx(1000 * true_us(unseen, 1500, 1700, 1200)).epsilon(0.15));
  CHECK(costs[0].bound_ns == Approx(1e9 * speed_of_light(op, unseen).seconds()).epsilon(1e-6));
  CHECK(costs[0].bound_ns < costs[0].time_ns);
  CHECK(costs[0].low_ns <= costs[0].time_ns);
  CHECK(costs[0].high_ns >= costs[0].time_ns);
  CHECK(costs[1].source == CostSource::kPrior);
  CHECK(costs[1].time_ns > costs[1].bound_ns);

  // A model of another class asks the prior.
  train(toy_profile(400, 7), folder / "own");
  auto own = TrainedModel::load(folder / "own");
  REQUIRE(own.ok());
  (*own)->set_prior(std::move(*loaded));
  REQUIRE((*own)->predict(ops, gpu_of(kToyDevice, 10, 1000), costs).ok());
  CHECK(costs[0].source != CostSource::kPrior);
  CHECK(costs[1].source == CostSource::kPrior);
}

TEST_CASE("Prior: a kind that one device has is evaluated on its shapes, with a wider interval") {
  const DeviceSpec device = gpu_of("A", 10, 500);
  Profile profile;
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    const auto m = static_cast<int64_t>(64 + rng.below(3000));
    const auto n = static_cast<int64_t>(64 + rng.below(3000));
    ProfileRow row =
        make_row(profile, "MatMul", OpClass::kMatMul, {f32({m, 512}), f32({512, n})}, {f32({m, n})},
                 true_us(device, static_cast<double>(m), static_cast<double>(n), 512));
    row.device = profile.intern(device.model);
    profile.add(row);
  }
  const TempFolder folder;
  TrainOptions options = fast_options();
  options.prior = true;
  options.known_devices = {device};
  options.keep_lookup = false;
  const TrainReport report = train(profile, folder / "prior", options);
  REQUIRE(report.manifest.parts.size() == 1);
  const ModelPart& part = report.manifest.parts[0];
  CHECK(part.left_out.empty());
  CHECK(part.held_out.n == 300);
  CHECK(part.held_out.mape < 0.1);
  REQUIRE(!part.intervals.high.empty());
  CHECK(part.intervals.high[0] > 1);
  CHECK(part.intervals.high[0] < 1.5);  // not the factor of 2 of a part without an evaluation
}

TEST_CASE("Training: a board with less power runs the measured chip slower") {
  DeviceSpec device = gpu_of("A", 10, 500);
  device.board_power_w = 400;
  Profile profile;
  Rng rng(7);
  for (int i = 0; i < 400; ++i) {
    const auto m = static_cast<int64_t>(512 + rng.below(3000));
    const auto n = static_cast<int64_t>(512 + rng.below(3000));
    ProfileRow row = make_row(
        profile, "MatMul", OpClass::kMatMul, {f32({m, 2048}), f32({2048, n})}, {f32({m, n})},
        true_us(device, static_cast<double>(m), static_cast<double>(n), 2048));
    row.device = profile.intern(device.model);
    profile.add(row);
  }
  const TempFolder folder;
  TrainOptions options = fast_options();
  options.known_devices = {device};
  options.keep_lookup = false;
  train(profile, folder / "model", options);
  auto model = TrainedModel::load(folder / "model");
  REQUIRE(model.ok());
  OpDescriptor op;
  op.op_type = "MatMul";
  op.op_class = OpClass::kMatMul;
  op.dtype = DType::kFloat32;
  op.input_extents = {{2000, 2048}, {2048, 2000}};
  op.input_dtypes = {op.dtype, op.dtype};
  op.output_extents = {{2000, 2000}};
  op.output_dtypes = {op.dtype};
  const auto time_on = [&](const std::string& name, double watts) {
    DeviceSpec board = device;
    board.model = name;
    board.board_power_w = watts;
    std::vector<OpCost> costs(1);
    REQUIRE((*model)->predict(std::vector<OpDescriptor>{op}, board, costs).ok());
    return static_cast<double>(costs[0].time_ns);
  };
  const double measured = time_on("A", 400);
  CHECK(time_on("B", 400) == Approx(measured).epsilon(1e-6));
  CHECK(time_on("B", 500) == Approx(measured).epsilon(1e-6));  // the clock has a limit, too
  CHECK(time_on("B", 200) / measured == Approx(std::pow(2.0, 0.59)).epsilon(0.1));
}

}  // namespace
}  // namespace dfsim
