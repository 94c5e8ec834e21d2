// Devices whose rows are all large: what the launch takes, and what small operators are predicted
// to take.
#include <catch2/catch.hpp>
#include <cmath>

#include "opmodel/model/trained_model.h"
#include "tests/opmodel/synthetic_profile.h"
#include "tests/opmodel/train_in_folder.h"

namespace dfsim {
namespace {

constexpr double kLaunch = 30;

DeviceSpec toy_device(const std::string& model) {
  DeviceSpec gpu;
  gpu.name = "gpu0";
  gpu.model = model;
  gpu.type = DeviceType::kGpu;
  gpu.peaks = {{DType::kFloat32, 10e12, 0}};
  gpu.memory_bytes_per_s = 1e12;
  gpu.l2_bytes = 1 << 22;
  gpu.compute_units = 64;
  gpu.launch_overhead_ns = 3000;
  return gpu;
}

// Eager products: m from `least` on, a batch or none.
void add_products(Profile& profile, const std::string& device, int64_t least, int64_t most,
                  size_t rows, uint64_t seed, int64_t batch = 1) {
  Rng rng(seed);
  const auto extent = [&](int64_t from) {
    return from + static_cast<int64_t>(rng.below(static_cast<uint64_t>(most - from)));
  };
  for (size_t i = 0; i < rows; ++i) {
    const int64_t m = extent(least);
    const int64_t n = extent(std::max<int64_t>(least, 64));
    const int64_t k = extent(std::max<int64_t>(least, 64));
    const double kernel = 3 + static_cast<double>(batch) *
                                  (toy_gemm_us(static_cast<double>(m), static_cast<double>(n),
                                               static_cast<double>(k)) -
                                   3);
    const TensorList inputs = batch == 1 ? TensorList{f32({m, k}), f32({k, n})}
                                         : TensorList{f32({batch, m, k}), f32({batch, k, n})};
    const TensorList outputs = {batch == 1 ? f32({m, n}) : f32({batch, m, n})};
    ProfileRow row =
        make_row(profile, "MatMul", OpClass::kMatMul, inputs, outputs, kLaunch + kernel);
    row.timing = TimingKind::kLaunchInclusive;
    row.device = profile.intern(device);
    profile.add(row);
  }
}

TrainReport train_products(const Profile& profile, const std::string& folder) {
  TrainOptions options = fast_options();
  options.known_devices = {toy_device("Small and large"), toy_device("Large only")};
  options.keep_lookup = false;
  return train(profile, folder, options);
}

double floor_on(const TrainReport& report, const std::string& kind, const std::string& device) {
  for (const ModelPart& part : report.manifest.parts) {
    if (part.kind == kind) {
      REQUIRE(part.find_device(device) != nullptr);
      return part.find_device(device)->floor_us;
    }
  }
  FAIL("no part of " << kind);
  return 0;
}

// Kernel time of a product of one row with a weight of 512 x 512, with its interval.
OpCost cost_of_one_row(const std::string& folder, const std::string& device) {
  const auto model = TrainedModel::load(folder);
  REQUIRE(model.ok());
  OpDescriptor op;
  op.op_type = "MatMul";
  op.op_class = OpClass::kMatMul;
  op.dtype = DType::kFloat32;
  op.input_extents = {{1, 512}, {512, 512}};
  op.input_dtypes = {op.dtype, op.dtype};
  op.output_extents = {{1, 512}};
  op.output_dtypes = {op.dtype};
  op.work.flops = int64_t{2} * 512 * 512;
  op.work.dtype = op.dtype;
  op.work.bytes_read = 4 * (512 + 512 * 512);
  op.work.bytes_written = 4 * 512;
  OpCost cost;
  REQUIRE((*model)->predict({&op, 1}, toy_device(device), {&cost, 1}).ok());
  return cost;
}

// 3 us and 1 MiB at 1 TB/s; nothing of the kernel shows in 34 us of which 30 are a launch.
void check_one_row(const OpCost& cost) {
  CHECK(cost.source == CostSource::kExtrapolated);
  CHECK(cost.time_ns >= 4000);
  CHECK(cost.time_ns <= 9000);
  CHECK(cost.low_ns <= 4100);
  CHECK(cost.high_ns >= cost.time_ns);
}

TEST_CASE("Floors: a device with large rows only has the launch of the other one") {
  const TempFolder folder;
  Profile profile;
  add_products(profile, "Small and large", 8, 2000, 500, 1);
  add_products(profile, "Large only", 1000, 2000, 200, 2);
  const TrainReport report = train_products(profile, folder / "m");
  // The shortest row takes 250 us.
  CHECK(floor_on(report, "linear", "Large only") == floor_on(report, "linear", "Small and large"));
  CHECK(floor_on(report, "linear", "Large only") < 40);
  check_one_row(cost_of_one_row(folder / "m", "Large only"));
}

TEST_CASE("Floors: other products of the same device show its launch") {
  const TempFolder folder;
  Profile profile;
  add_products(profile, "Large only", 1000, 2000, 300, 3);
  add_products(profile, "Large only", 8, 200, 300, 4, 2);
  const TrainReport report = train_products(profile, folder / "m");
  CHECK(floor_on(report, "linear", "Large only") == floor_on(report, "bmm", "Large only"));
  check_one_row(cost_of_one_row(folder / "m", "Large only"));
}

TEST_CASE("Floors: where no row is short, the shortest one without its work") {
  const TempFolder folder;
  Profile profile;
  add_products(profile, "Large only", 1000, 2000, 300, 5);
  const TrainReport report = train_products(profile, folder / "m");
  // Products reach 0.8 or 0.6 of the peak: what is lost stays in the floor.
  const double floor = floor_on(report, "linear", "Large only");
  CHECK(floor >= 33);
  CHECK(floor < 33 + 250 * 0.67);
}

}  // namespace
}  // namespace dfsim
