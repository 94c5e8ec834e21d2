// Ops of networks at several batch sizes: scaled ops, instances, totals.
#include <catch2/catch.hpp>
#include <cmath>

#include "opmodel/model/trained_model.h"
#include "opmodel/samples/instance_effects.h"
#include "opmodel/samples/instance_key.h"
#include "opmodel/train/evaluation.h"
#include "tests/opmodel/synthetic_profile.h"
#include "tests/opmodel/train_in_folder.h"

namespace dfsim {
namespace {

TEST_CASE("lasting_name: removes numbers that change from run to run") {
  CHECK(lasting_name("Default/layer1/conv2/Conv2D-op17") == "Default/layer1/conv2/ConvD");
  CHECK(lasting_name("Default/layer1/conv2/Conv2D-op23") == "Default/layer1/conv2/ConvD");
  CHECK(lasting_name("Default/layer2/FusionOp_12_x") == "Default/layer2/FusionOp__x");
  CHECK(lasting_name("Cast-op1") == "Cast");
  CHECK(lasting_name("").empty());
  CHECK(lasting_name("42").empty());
}

// Training steps of synthetic networks on a synthetic NPU: times affine in the batch, each network
// and op type with its own slope, launch and 3 % of noise.
Profile npu_steps(const std::vector<int>& batches) {
  Profile profile;
  const std::vector<std::string> types = {"Conv2D", "BNTrainingUpdate", "TransData", "ReluGrad",
                                          "ApplyMomentum"};
  for (const int batch : batches) {
    Rng shapes(71);  // the same networks at every batch size
    Rng noise(72 + static_cast<uint64_t>(batch));
    for (int network = 0; network < 4; ++network) {
      for (int i = 0; i < 150; ++i) {
        const std::string& type = types[shapes.below(types.size())];
        const auto channels = static_cast<int64_t>(1 + shapes.below(32));
        const auto side = static_cast<int64_t>(7 * (1 + shapes.below(8)));
        // A property of the op's type and shape, which trees can only guess.
        const double slope =
            0.5 +
            Rng(type.size() + static_cast<uint64_t>(channels * 1000 + side * 100'000)).uniform();
        const bool weights = type == "ApplyMomentum";
        TensorSpec x = {
            DType::kFloat16, {weights ? 9 : batch, channels, side, side, 16}, "NC1HWC0"};
        const double elements = static_cast<double>(channels * side * side * 16);
        const double time_us =
            6 + slope * elements * (weights ? 9 : batch) / 2e5 * (1 + 0.03 * noise.normal());
        ProfileRow row = make_row(profile, type, OpClass::kOpaque, {x}, {x}, time_us);
        row.timing = TimingKind::kInNetwork;
        row.network = profile.intern("net" + std::to_string(network));
        row.batch = batch;
        profile.add(row);
      }
    }
  }
  return profile;
}

TEST_CASE("Trained model: predicts a third batch size of networks from two, per op and in total") {
  const TempFolder folder;
  train(npu_steps({16, 64}), folder / "npu");
  const auto model = TrainedModel::load(folder / "npu");
  REQUIRE(model.ok());
  const auto evaluation = evaluate_model(**model, npu_steps({32}), {});
  REQUIRE(evaluation.ok());
  const EvaluationCell& all = evaluation->overall.all;
  CHECK(all.n == 600);
  CHECK(all.coverage == 1);
  CHECK(all.model.mape < 0.08);
  CHECK(all.model.median < 0.05);
  CHECK(all.model.mape < all.baseline.mape);
  REQUIRE(evaluation->networks.size() == 4);
  CHECK(evaluation->mean_network_error < 0.05);
}

constexpr int kInstances = 200;

// One network of equal ops, each with a factor of its own in [0.8, 1.2], under names with
// different numbers at each batch size; 1 % of noise.
Profile uneven_steps(int batch, bool lasting) {
  Profile profile;
  Rng noise(static_cast<uint64_t>(batch));
  for (int i = 0; i < kInstances; ++i) {
    const auto seed = static_cast<uint64_t>(1 + i + (lasting ? 0 : batch * 1000));
    const double factor = 0.8 + 0.4 * Rng(seed).uniform();
    ProfileRow row =
        make_row(profile, "TransData", OpClass::kOpaque, {f32({batch, 1000})}, {f32({batch, 1000})},
                 (10 + 2.0 * batch) * factor * (1 + 0.01 * noise.normal()));
    row.network = profile.intern("net");
    row.batch = batch;
    row.name = profile.intern("Default/TransData-op" + std::to_string(7 * i + batch));
    profile.add(row);
  }
  return profile;
}

double error_at_another_batch(bool lasting) {
  const TempFolder folder;
  Profile profile = uneven_steps(16, lasting);
  profile.append(uneven_steps(64, lasting));
  train(profile, folder / "npu");
  const auto model = TrainedModel::load(folder / "npu");
  REQUIRE(model.ok());
  CHECK(((*model)->scaling().size() > kInstances / 2) == lasting);
  const auto evaluation = evaluate_model(**model, uneven_steps(32, lasting), {});
  REQUIRE(evaluation.ok());
  CHECK(evaluation->overall.all.n == kInstances);
  return evaluation->overall.all.model.mape;
}

TEST_CASE(
    "Instance effects: an op slower than others of its shape stays slower at another batch size") {
  CHECK(error_at_another_batch(/*lasting=*/true) < 0.02);
}

TEST_CASE(
    "Instance effects: a model that keeps no measured times keeps no effects and sizes either") {
  for (const bool keep : {true, false}) {
    const TempFolder folder;
    Profile profile = uneven_steps(16, /*lasting=*/true);
    profile.append(uneven_steps(64, /*lasting=*/true));
    TrainOptions options = fast_options();
    options.keep_lookup = keep;
    train(profile, folder / "npu", options);
    const auto model = TrainedModel::load(folder / "npu");
    REQUIRE(model.ok());
    CHECK(((*model)->scaling().size() > 0) == keep);
  }
}

TEST_CASE("Instance effects: deviations that do not last count as noise") {
  // Each batch size draws its own factors: the median is the best guess, 10 % off on average.
  const double error = error_at_another_batch(/*lasting=*/false);
  CHECK(error > 0.08);
  CHECK(error < 0.13);
}

TEST_CASE("Instance effects: the share of noise shrinks them") {
  // Instances a, b of one shape in two runs each, 30 pairs: deviations +-10 %, of which all lasts.
  TrainingData data;
  data.ops.resize(1);
  data.geometries.resize(1);
  data.devices.resize(1);
  for (uint64_t instance = 1; instance <= 60; ++instance) {
    for (int run = 0; run < 2; ++run) {
      Sample sample;
      sample.instance = instance;
      sample.time_us = 100 * std::exp(instance % 2 == 0 ? 0.1 : -0.1);
      data.samples.push_back(sample);
    }
  }
  const auto effects = instance_effects(data);
  REQUIRE(effects.size() == 60);
  // The usual time is the mean of both: ln of (e^0.1 + e^-0.1) / 2 is 0.004996.
  CHECK(effects[0].first == 1);
  CHECK(effects[0].second == Approx(-0.1 - 0.004992).margin(1e-4));
  CHECK(effects[1].second == Approx(0.1 - 0.004992).margin(1e-4));
  // Half of the instances are too few to tell.
  data.samples.resize(40);
  CHECK(instance_effects(data).empty());
}

}  // namespace
}  // namespace dfsim
