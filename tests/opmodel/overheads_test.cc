// Overheads of measuring: training learns them with the times, predictions exclude them.
#include "opmodel/samples/overheads.h"

#include <catch2/catch.hpp>

#include "base/io/file.h"
#include "opmodel/model/trained_model.h"
#include "opmodel/train/evaluation.h"
#include "tests/opmodel/synthetic_profile.h"
#include "tests/opmodel/train_in_folder.h"

namespace dfsim {
namespace {

OpDescriptor product(int64_t size) {
  OpDescriptor op;
  op.op_type = "MatMul";
  op.op_class = OpClass::kMatMul;
  op.dtype = DType::kFloat32;
  op.input_extents = {{size, size}, {size, size}};
  op.output_extents = {{size, size}};
  op.input_dtypes = {DType::kFloat32, DType::kFloat32};
  op.output_dtypes = {DType::kFloat32};
  return op;
}

OpCost cost_of(const TrainedModel& model, int64_t size) {
  DeviceSpec device = model.manifest().devices.front();
  std::vector<OpCost> costs(1);
  const std::vector<OpDescriptor> ops = {product(size)};
  REQUIRE(model.predict(ops, device, costs).ok());
  return costs[0];
}

TEST_CASE("Overheads: are subtracted from predictions, not from the times that evaluate compares") {
  const TempFolder folder;
  Profile profile = toy_profile(300, 7);
  add_gemm(profile, 512, 512, 512);
  add_gemm(profile, 16, 16, 16);
  TrainOptions options = fast_options();
  train(profile, folder / "plain", options);
  options.overheads = {{kToyDevice, 2.5}};
  const TrainReport report = train(profile, folder / "net", options);
  CHECK(report.manifest.overhead_us(kToyDevice) == 2.5);
  CHECK(report.manifest.overhead_us("another") == 0);
  const auto plain = TrainedModel::load(folder / "plain");
  const auto net = TrainedModel::load(folder / "net");
  REQUIRE(plain.ok());
  REQUIRE(net.ok());
  CHECK(cost_of(**net, 512).time_ns == cost_of(**plain, 512).time_ns - 2500);
  CHECK(cost_of(**net, 300).time_ns == cost_of(**plain, 300).time_ns - 2500);
  // At least a tenth of the 3 us is left.
  options.overheads = {{kToyDevice, 100}};
  train(profile, folder / "net", options);
  const auto all = TrainedModel::load(folder / "net");
  REQUIRE(all.ok());
  CHECK(cost_of(**all, 16).time_ns == Approx(cost_of(**plain, 16).time_ns / 10).margin(2));
  const auto evaluation = evaluate_model(**all, profile, {});
  REQUIRE(evaluation.ok());
  CHECK(evaluation->overall.by_seen[static_cast<size_t>(Seen::kShape)].model.mape < 1e-5);
}

TEST_CASE("Overheads: the error about a device that no row has names the nearest") {
  const TempFolder folder;
  TrainOptions options = fast_options();
  options.overheads = {{"Toy GPUs", 1}};
  const auto report = train_model(toy_profile(60, 1), options, folder / "m", {});
  REQUIRE_FALSE(report.ok());
  CHECK(report.status().message().find(kToyDevice) != std::string::npos);
}

TEST_CASE("Overheads: files are read strictly") {
  const TempFolder folder;
  const std::string path = folder / "o.json";
  const auto read = [&](const std::string& text) {
    REQUIRE(write_file(path, text).ok());
    return read_overheads(path);
  };
  const auto good = read(R"({"a": 1.5, "b": 0})");
  REQUIRE(good.ok());
  CHECK(*good == Overheads{{"a", 1.5}, {"b", 0}});
  for (const char* text : {"", "[]", "{", R"({"a": "1"})", R"({"a": -1})", R"({"a": 1e9})"}) {
    INFO(text);
    CHECK(read(text).status().code() == StatusCode::kInvalidInput);
  }
  CHECK_FALSE(read_overheads(folder / "none.json").ok());
}

TEST_CASE("Training: a model keeps its devices' rates by bare loops, and refuses those of others") {
  const TempFolder folder;
  const Profile profile = toy_profile(200, 1);
  TrainOptions options = fast_options();
  DeviceSpec bare;
  bare.model = kToyDevice;
  bare.compute_units = 4;
  bare.memory_bytes_per_s = 5e10;
  bare.peaks = {{DType::kFloat32, 1.25e12, 0}};
  options.bare_devices = {bare};
  train(profile, folder / "toy", options);
  const auto model = TrainedModel::load(folder / "toy");
  REQUIRE(model.ok());
  const DeviceSpec* const kept = (*model)->manifest().find_bare_device(kToyDevice);
  REQUIRE(kept != nullptr);
  CHECK(kept->compute_units == 4);
  CHECK(kept->memory_bytes_per_s == 5e10);
  CHECK(kept->peak_flops_per_s(DType::kFloat32, false) == 1.25e12);
  CHECK((*model)->manifest().find_bare_device("another") == nullptr);

  // A model that is extended without them keeps them.
  TrainOptions more = fast_options();
  more.extend = folder / "toy";
  train(toy_profile(200, 2), folder / "more", more);
  const auto extended = TrainedModel::load(folder / "more");
  REQUIRE(extended.ok());
  CHECK((*extended)->manifest().find_bare_device(kToyDevice) != nullptr);

  options.bare_devices[0].model = "another";
  const auto refused = train_model(profile, options, folder / "other", {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().message().find("--bare with `model` another: no row is of this device") !=
        std::string::npos);
}

}  // namespace
}  // namespace dfsim
