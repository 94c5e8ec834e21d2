#include "opmodel/train/training.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "base/io/file.h"
#include "opmodel/model/model_loader.h"
#include "opmodel/model/trained_model.h"
#include "opmodel/train/evaluation.h"
#include "tests/opmodel/synthetic_profile.h"
#include "tests/opmodel/train_in_folder.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

TEST_CASE("Training: a model learns a toy GPU, reports its error, and beats the bound") {
  const TempFolder folder;
  const Profile profile = toy_profile(1500, 1);
  const TrainReport report = train(profile, folder / "toy");
  REQUIRE(report.manifest.parts.size() == 1);
  const ModelPart& part = report.manifest.parts[0];
  CHECK(part.op_class == OpClass::kMatMul);
  CHECK(part.kind == "linear");
  CHECK(part.held_out.n > 150);
  CHECK(part.held_out.mape < 0.04);
  CHECK(part.held_out.mape < part.held_out_baseline.mape);
  CHECK(part.held_out.interval > 0.65);
  CHECK(part.held_out.interval < 0.95);
  CHECK(report.manifest.name == "toy");
  CHECK(report.estimated_devices == std::vector<std::string>{kToyDevice});

  const auto model = TrainedModel::load(folder / "toy");
  REQUIRE(model.ok());
  // Unseen shapes of the same device.
  const auto unseen = evaluate_model(**model, toy_profile(300, 2), {});
  REQUIRE(unseen.ok());
  REQUIRE(unseen->groups.size() == 1);
  CHECK(unseen->groups[0].op == "MatMul");
  CHECK(unseen->overall.all.n == 300);
  CHECK(unseen->overall.all.coverage == 1);
  CHECK(unseen->overall.all.model.mape < 0.04);
  // Seen shapes come from the lookup, exactly but for the step of its codes.
  const auto seen = evaluate_model(**model, profile, {});
  REQUIRE(seen.ok());
  const auto& cell = seen->overall.by_seen[static_cast<size_t>(Seen::kShape)];
  CHECK(cell.n == seen->overall.all.n);
  CHECK(cell.model.mape < 1e-5);
}

TEST_CASE("Training: the times of one device alone can be kept") {
  const TempFolder folder;
  Profile profile = toy_profile(200, 1);
  for (int64_t n = 64; n < 64 + 50; ++n) {
    ProfileRow row = make_row(profile, "MatMul", OpClass::kMatMul, {f32({n, 64}), f32({64, 64})},
                              {f32({n, 64})}, 5);
    row.device = profile.intern("Another GPU");
    profile.add(row);
  }
  TrainOptions options = fast_options();
  const auto kept = [&](const char* name) {
    train(profile, folder / name, options);
    return (*TrainedModel::load(folder / name))->lookup().size();
  };
  const size_t all = kept("all");
  options.lookup_devices = {kToyDevice};
  CHECK(kept("one") == all - 50);
  options.lookup_devices = {"a third"};
  const auto refused = train_model(profile, options, folder / "refused", {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().message().find("--lookup-device a third: no row is of this device") == 0);
}

TEST_CASE("Training: the same rows and seed give the same files on any number of threads") {
  const TempFolder folder;
  Profile profile = toy_profile(400, 3);
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    const auto n = static_cast<int64_t>(1000 + rng.below(1 << 20));
    profile.add(make_row(profile, "Relu", OpClass::kElementwise, {f32({n})}, {f32({n})},
                         3 + 8.0 * static_cast<double>(n) / 1e6 / 0.9));
  }
  TrainOptions options = fast_options();
  const TrainReport one = train(profile, folder / "m1/same", options);
  options.threads = 3;
  train(profile, folder / "m3/same", options);
  REQUIRE(one.manifest.parts.size() == 2);
  for (const auto& entry : fs::directory_iterator(folder / "m1/same")) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK(read_file(entry.path().string(), 1 << 30).value() ==
          read_file(folder / ("m3/same/" + name), 1 << 30).value());
  }
}

OpDescriptor gemm_op(int64_t m, int64_t n, int64_t k, DType dtype = DType::kFloat32) {
  OpDescriptor op;
  op.op_type = "MatMul";
  op.op_class = OpClass::kMatMul;
  op.dtype = dtype;
  op.input_extents = {{m, k}, {k, n}};
  op.input_dtypes = {dtype, dtype};
  op.output_extents = {{m, n}};
  op.output_dtypes = {dtype};
  op.work.flops = 2 * m * n * k;
  op.work.dtype = dtype;
  return op;
}

TEST_CASE("Trained model: marks answers measured, predicted, extrapolated or bound-only") {
  const TempFolder folder;
  Profile profile = toy_profile(600, 7);
  add_gemm(profile, 512, 512, 512, 1.5);  // a measured outlier must win over the trees
  train(profile, folder / "toy");
  const auto model = TrainedModel::load(folder / "toy");
  REQUIRE(model.ok());
  const DeviceSpec device = *(*model)->manifest().find_device(kToyDevice);
  OpDescriptor softmax = gemm_op(8, 8, 8);
  softmax.op_type = "Softmax";
  softmax.op_class = OpClass::kSoftmax;
  OpDescriptor view = softmax;
  view.op_class = OpClass::kView;
  const std::vector<OpDescriptor> ops = {gemm_op(512, 512, 512),
                                         gemm_op(700, 900, 800),
                                         gemm_op(30000, 9000, 20000),
                                         softmax,
                                         gemm_op(700, 900, 800, DType::kFloat16),
                                         view};
  std::vector<OpCost> costs(ops.size());
  REQUIRE((*model)->predict(ops, device, costs).ok());
  CHECK(costs[0].source == CostSource::kMeasured);
  CHECK(costs[0].time_ns == Approx(1500 * toy_gemm_us(512, 512, 512)).epsilon(1e-4));
  CHECK(costs[1].source == CostSource::kPredicted);
  CHECK(costs[1].time_ns == Approx(1000 * toy_gemm_us(700, 900, 800)).epsilon(0.1));
  CHECK(costs[2].source == CostSource::kExtrapolated);
  CHECK(costs[2].time_ns == Approx(1000 * toy_gemm_us(30000, 9000, 20000)).epsilon(0.3));
  CHECK(costs[3].source == CostSource::kBoundOnly);
  CHECK(costs[4].source == CostSource::kExtrapolated);
  CHECK(costs[5].time_ns == 0);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    CHECK(costs[i].low_ns <= costs[i].time_ns);
    CHECK(costs[i].high_ns >= costs[i].time_ns);
  }
  // Another device leaves the training ground too.
  DeviceSpec other = device;
  other.model = "Another board";
  REQUIRE((*model)->predict(ops, other, costs).ok());
  CHECK(costs[0].source == CostSource::kPredicted);  // the same chip, but not what was measured
  CHECK(costs[1].source == CostSource::kPredicted);
  other.compute_units *= 2;
  REQUIRE((*model)->predict(ops, other, costs).ok());
  CHECK(costs[1].source == CostSource::kExtrapolated);
}

TEST_CASE("Training: subtracts a launch that was measured with the kernel from the device's time") {
  const TempFolder folder;
  Profile profile;
  Rng rng(8);
  for (int i = 0; i < 400; ++i) {
    const int64_t m = 32 + static_cast<int64_t>(rng.below(1500));
    ProfileRow row = make_row(profile, "MatMul", OpClass::kMatMul, {f32({m, 256}), f32({256, 256})},
                              {f32({m, 256})}, 40 + toy_gemm_us(static_cast<double>(m), 256, 256));
    row.timing = TimingKind::kLaunchInclusive;
    profile.add(row);
  }
  TrainOptions options = fast_options();
  options.device = "a100";  // whose bound lies far below the toy's times
  train(profile, folder / "toy", options);
  const auto model = TrainedModel::load(folder / "toy");
  REQUIRE(model.ok());
  DeviceSpec device = (*model)->manifest().devices[0];
  device.launch_overhead_ns = 3000;
  const std::vector<OpDescriptor> ops = {gemm_op(1000, 256, 256)};
  std::vector<OpCost> costs(1);
  REQUIRE((*model)->predict(ops, device, costs).ok());
  const double kernel_us = toy_gemm_us(1000, 256, 256);
  CHECK(costs[0].time_ns == Approx(1000 * kernel_us).epsilon(0.15));
}

TEST_CASE("Training: a class with three rows answers with its median, marked extrapolated") {
  const TempFolder folder;
  Profile profile;
  for (const int64_t m : {100, 200, 300}) {
    add_gemm(profile, m, 512, 512);
  }
  const TrainReport report = train(profile, folder / "tiny");
  REQUIRE(report.manifest.parts.size() == 1);
  CHECK(report.manifest.parts[0].file.empty());
  const auto model = TrainedModel::load(folder / "tiny");
  REQUIRE(model.ok());
  const std::vector<OpDescriptor> ops = {gemm_op(250, 512, 512)};
  std::vector<OpCost> costs(1);
  REQUIRE((*model)->predict(ops, (*model)->manifest().devices[0], costs).ok());
  CHECK(costs[0].source == CostSource::kExtrapolated);
  CHECK(costs[0].time_ns == Approx(1000 * toy_gemm_us(250, 512, 512)).epsilon(0.3));
}

TEST_CASE("Training: new rows can be added to a model") {
  const TempFolder folder;
  train(toy_profile(500, 11), folder / "toy");
  Profile more;
  Rng rng(12);
  for (int i = 0; i < 200; ++i) {
    const auto n = static_cast<int64_t>(1000 + rng.below(1 << 20));
    more.add(make_row(more, "Relu", OpClass::kElementwise, {f32({n})}, {f32({n})},
                      3 + 8.0 * static_cast<double>(n) / 1e6));
  }
  add_gemm(more, 512, 512, 512, 1.5);
  for (int i = 0; i < 60; ++i) {
    add_gemm(more, 100 + i * 20, 640, 640);
  }
  TrainOptions options = fast_options();
  options.extend = folder / "toy";
  const TrainReport report = train(more, folder / "toy", options);
  CHECK(report.manifest.parts.size() == 2);
  const auto model = TrainedModel::load(folder / "toy");
  REQUIRE(model.ok());
  CHECK(report.drops.total() == 0);
  CHECK((*model)->lookup().size() > 700);
  const auto old_ground = evaluate_model(**model, toy_profile(200, 13), {});
  REQUIRE(old_ground.ok());
  CHECK(old_ground->overall.all.model.mape < 0.06);
}

TEST_CASE("Training: finds and subtracts the time by which measuring slows the host down") {
  const TempFolder folder;
  Profile profile;
  Rng rng(61);
  constexpr int kRows = 1200;
  for (int i = 0; i < kRows; ++i) {
    const int64_t m = 8 + static_cast<int64_t>(rng.below(3000));
    const int64_t n = 8 + static_cast<int64_t>(rng.below(3000));
    const int64_t k = 8 + static_cast<int64_t>(rng.below(1000));
    const double drift_us = 300.0 * i / kRows;
    ProfileRow row = make_row(
        profile, "MatMul", OpClass::kMatMul, {f32({m, k}), f32({k, n})}, {f32({m, n})},
        40 + drift_us +
            toy_gemm_us(static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)));
    row.timing = TimingKind::kLaunchInclusive;
    profile.add(row);
  }
  const TrainReport report = train(profile, folder / "toy");
  REQUIRE(report.manifest.parts.size() == 1);
  const ModelPart& part = report.manifest.parts[0];
  REQUIRE(part.drifts.size() == 1);
  CHECK(part.drifts[0].second == Approx(300).epsilon(0.1));
  CHECK(part.held_out.mape < 0.05);
}

TEST_CASE("Training: keeps the devices of a profile apart; a missing class is bound-only") {
  const TempFolder folder;
  Profile profile = toy_profile(400, 17);
  Rng rng(18);
  for (int i = 0; i < 400; ++i) {  // a device of half the speed
    const auto m = static_cast<int64_t>(64 + rng.below(2000));
    const auto n = static_cast<int64_t>(64 + rng.below(2000));
    ProfileRow row =
        make_row(profile, "MatMul", OpClass::kMatMul, {f32({m, 512}), f32({512, n})}, {f32({m, n})},
                 2 * toy_gemm_us(static_cast<double>(m), static_cast<double>(n), 512));
    row.device = profile.intern("Slow GPU");
    profile.add(row);
  }
  const TrainReport report = train(profile, folder / "both");
  REQUIRE(report.manifest.devices.size() == 2);
  const auto model = TrainedModel::load(folder / "both");
  REQUIRE(model.ok());
  OpDescriptor unknown = gemm_op(8, 8, 8);
  unknown.op_type = "Resize";
  unknown.op_class = OpClass::kDataMovement;
  const std::vector<OpDescriptor> ops = {gemm_op(900, 901, 512), unknown};
  for (const auto& [name, factor] : {std::pair{kToyDevice, 1}, std::pair{"Slow GPU", 2}}) {
    std::vector<OpCost> costs(2);
    REQUIRE((*model)->predict(ops, *(*model)->manifest().find_device(name), costs).ok());
    CHECK(costs[0].time_ns == Approx(factor * 1000 * toy_gemm_us(900, 901, 512)).epsilon(0.2));
    CHECK(costs[1].source == CostSource::kBoundOnly);
  }
}

TEST_CASE("Evaluation: sums networks with the counts of their ops") {
  const TempFolder folder;
  train(toy_profile(500, 21), folder / "toy");
  const auto model = TrainedModel::load(folder / "toy");
  REQUIRE(model.ok());
  Profile network;
  for (const int64_t m : {100, 900}) {
    ProfileRow row = make_row(network, "MatMul", OpClass::kMatMul, {f32({m, 512}), f32({512, 512})},
                              {f32({m, 512})}, toy_gemm_us(static_cast<double>(m), 512, 512));
    row.network = network.intern("net");
    row.batch = 4;
    row.count = 3;
    network.add(row);
  }
  const auto evaluation = evaluate_model(**model, network, {});
  REQUIRE(evaluation.ok());
  REQUIRE(evaluation->networks.size() == 1);
  CHECK(evaluation->networks[0].ops == 6);
  CHECK(evaluation->networks[0].measured_us ==
        Approx(3 * (toy_gemm_us(100, 512, 512) + toy_gemm_us(900, 512, 512))).epsilon(1e-3));
  CHECK(std::abs(evaluation->networks[0].error()) < 0.1);
}

TEST_CASE("Training: never subtracts a launch below the speed of light") {
  const TempFolder folder;
  Profile profile;
  // Conv2d 1x1 and 3x3 that take nothing but their launch, whatever their size.
  for (int64_t c = 16; c < 16 * 200; c += 16) {
    for (const int64_t k : {1, 3}) {
      const std::string pads = k == 3 ? "1,1,1,1" : "0,0,0,0";
      ProfileRow row =
          make_row(profile, "Conv", OpClass::kConv, {f32({1, c, 14, 14}), f32({64, c, k, k})},
                   {f32({1, 64, 14, 14})}, 400, "group=1;pads=" + pads + ";strides=1,1");
      row.timing = TimingKind::kLaunchInclusive;
      profile.add(row);
    }
  }
  TrainOptions options = fast_options();
  options.device = "a100";
  train(profile, folder / "toy", options);
  const auto model = TrainedModel::load(folder / "toy");
  REQUIRE(model.ok());
  const DeviceSpec device = (*model)->manifest().devices[0];
  std::vector<OpDescriptor> ops;
  for (const int64_t k : {1, 3}) {
    OpDescriptor op = gemm_op(1, 1, 1);
    op.op_type = "Conv";
    op.op_class = OpClass::kConv;
    op.attributes = "group=1;strides=1,1";
    op.input_extents = {{1, 2000, 14, 14}, {64, 2000, k, k}};
    op.output_extents = {{1, 64, 14, 14}};
    ops.push_back(op);
  }
  std::vector<OpCost> costs(2);
  REQUIRE((*model)->predict(ops, device, costs).ok());
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpGeometry geometry = geometry_of(ops[i]);
    const double peak = device.peak_flops_per_s(DType::kFloat32, true);
    // Winograd's algorithm may do a 3x3 with 2.25 times fewer multiplications.
    const double least_us = geometry.flops / peak * 1e6 / (i == 1 ? 2.25 : 1.0);
    CHECK(static_cast<double>(costs[i].time_ns) >= 1000 * least_us);
  }
  // Kernels of matrix units multiply all of it.
  DeviceSpec slow = device;
  for (PeakRate& peak : slow.peaks) {
    peak.flops_per_s = peak.matrix_flops_per_s = 1e12;
  }
  OpDescriptor half = ops[1];
  half.dtype = DType::kFloat16;
  half.input_dtypes.assign(2, DType::kFloat16);
  half.output_dtypes = {DType::kFloat16};
  REQUIRE((*model)->predict(std::vector<OpDescriptor>{half}, slow, std::span(costs).first(1)).ok());
  CHECK(static_cast<double>(costs[0].time_ns) >= 1000 * geometry_of(half).flops / 1e12 * 1e6);
}

TEST_CASE("Training: drops and counts rows faster than half of their bound") {
  const TempFolder folder;
  Profile profile = toy_profile(300, 31);
  TrainOptions options = fast_options();
  options.device = "a100";  // 19.5 TFLOP/s: a product in no time is impossible there
  add_gemm(profile, 2000, 2000, 2000, 1e-3);
  const TrainReport report = train(profile, folder / "toy", options);
  CHECK(report.drops.count(DropReason::kImpossible) == 1);
}

TEST_CASE("Trained model: errors about damaged, newer and missing models name a remedy") {
  const TempFolder folder;
  const TrainReport report = train(toy_profile(300, 41), folder / "toy");
  const std::string manifest_path = folder / "toy/manifest.json";
  const std::string manifest = read_file(manifest_path, 1 << 30).value();
  const auto message_of = [&](const std::string& text) {
    REQUIRE(write_file(manifest_path, text).ok());
    const auto model = TrainedModel::load(folder / "toy");
    return model.ok() ? std::string() : model.status().message();
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = manifest;
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  CHECK(message_of("").find("not a JSON object") != std::string::npos);
  CHECK(message_of(manifest.substr(0, manifest.size() / 2)).find("not a JSON") !=
        std::string::npos);
  CHECK(message_of(replaced("\"version\": 1", "\"version\": 2")).find("update dfsim") !=
        std::string::npos);
  CHECK(message_of(replaced("\"kind\":\"linear\"", "\"kind\":3")).find("'kind'") !=
        std::string::npos);
  CHECK(message_of(replaced("\"family\":\"gemm\"", "\"family\":\"gem\"")).find("'gem'") !=
        std::string::npos);
  CHECK(message_of("{}").find("'format'") != std::string::npos);
  CHECK(message_of(manifest).empty());

  // Damaged trees are found when they are first needed.
  const std::string trees_path = folder / ("toy/" + report.manifest.parts[0].file);
  std::string trees = read_file(trees_path, 1 << 30).value();
  trees[trees.size() / 2] ^= 1;
  REQUIRE(write_file(trees_path, trees).ok());
  const auto model = TrainedModel::load(folder / "toy");
  REQUIRE(model.ok());
  const std::vector<OpDescriptor> ops = {gemm_op(777, 512, 512)};
  std::vector<OpCost> costs(1);
  const Status status = (*model)->predict(ops, (*model)->manifest().devices[0], costs);
  REQUIRE_FALSE(status.ok());
  CHECK(status.message().find("checksum") != std::string::npos);

  REQUIRE(write_file(folder / "toy/lookup.bin", "dfsimLT1").ok());
  CHECK_FALSE(TrainedModel::load(folder / "toy").ok());
  CHECK_FALSE(TrainedModel::load(folder / "nothing").ok());
  CHECK(TrainedModel::load(folder / "nothing").status().code() == StatusCode::kNotFound);
}

TEST_CASE("Training: an empty profile and an unknown device or model are errors") {
  const TempFolder folder;
  CHECK_FALSE(train_model(Profile(), fast_options(), folder / "none", {}).ok());
  TrainOptions options = fast_options();
  options.device = "no such device";
  CHECK(train_model(toy_profile(50, 1), options, folder / "none", {}).status().code() ==
        StatusCode::kNotFound);
  options = fast_options();
  options.extend = folder / "none";
  CHECK_FALSE(train_model(toy_profile(50, 1), options, folder / "none", {}).ok());
  const auto model = load_trained_model("no-such-model");
  REQUIRE_FALSE(model.ok());
  CHECK(model.status().message().find("dfsim train") != std::string::npos);
}

TEST_CASE("Training: unknown op types share a part that knows their level") {
  const TempFolder folder;
  Profile profile;
  Rng rng(51);
  const std::vector<std::pair<std::string, double>> types = {
      {"TransData", 1.0}, {"BNTrainingUpdate", 2.5}, {"ApplyMomentum", 4.0}};
  for (int i = 0; i < 240; ++i) {
    const auto& [type, factor] = types[static_cast<size_t>(i) % types.size()];
    const auto n = static_cast<int64_t>(1000 + rng.below(1 << 18));
    TensorSpec blocked = f32({n / 16, 16});
    blocked.format = "NC1HWC0";
    profile.add(make_row(profile, type, OpClass::kOpaque, {blocked}, {blocked},
                         5 + factor * static_cast<double>(n) / 1e4));
  }
  const TrainReport report = train(profile, folder / "npu");
  REQUIRE(report.manifest.parts.size() == 1);
  CHECK(report.manifest.parts[0].kind == kAnyKind);
  CHECK(report.manifest.parts[0].kind_effects.size() == 3);
  CHECK(report.manifest.parts[0].held_out.mape < 0.15);
}

}  // namespace
}  // namespace dfsim
