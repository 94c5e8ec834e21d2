#include "study/validation/validation.h"
#include "report/measurements/validation_views.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

namespace dfsim {
namespace {

ValidatedRun validated_run(const std::string& network, TimeNs measured, TimeNs predicted) {
  ValidatedRun run;
  run.network = network;
  run.device = "cpu";
  run.measured_ns = measured;
  run.predicted_ns = predicted;
  run.interval = {predicted * 9 / 10, predicted * 11 / 10};
  return run;
}

TEST_CASE("Validation: mean, median, worst and bias equal the values computed by hand") {
  const std::vector<ValidatedRun> runs = {
      validated_run("a", 100, 110), validated_run("a", 200, 190), validated_run("b", 100, 130)};
  const ValidationSummary summary = summarize(runs);
  CHECK(summary.runs == 3);
  CHECK(summary.networks == 2);
  CHECK(summary.mean == Approx((0.10 + 0.05 + 0.30) / 3));
  CHECK(summary.median == Approx(0.10));
  CHECK(summary.worst == Approx(0.30));
  CHECK(summary.worst_run == "b batch 1 on cpu");
  CHECK(summary.bias == Approx(430.0 / 400 - 1));
  CHECK(summary.inside == Approx(2.0 / 3));
  CHECK(summarize({}).mean == 0);
}

TEST_CASE("Validation: shares of the error add up, by type of operator where types are known") {
  ValidatedRun run = validated_run("a", 1000, 1200);
  run.measured_ops_ns = 900;
  run.predicted_ops_ns = 1150;
  ErrorShares shares = error_shares(run);
  REQUIRE(shares.known);
  CHECK_FALSE(shares.types_known);
  CHECK(shares.op_model == Approx(0.25));
  CHECK(shares.host == Approx(-0.05));
  // Conv ran as often as predicted; Pad never ran; Relu ran, but was not predicted.
  run.measured_types = {{"Conv", {2, 800}}, {"Relu", {1, 100}}};
  run.predicted_types = {{"Conv", {2, 950}}, {"Pad", {1, 200}}};
  shares = error_shares(run);
  REQUIRE(shares.types_known);
  CHECK(shares.fusion == Approx(0.10));
  CHECK(shares.op_model == Approx(0.15));
  CHECK(shares.op_model + shares.fusion + shares.host == Approx(run.error()));
  CHECK_FALSE(error_shares(validated_run("a", 1, 1)).known);
}

TEST_CASE("Validation: intervals of a network are narrower than its operators' but never empty") {
  ExecGraphBuilder builder;
  CostTable costs(100, 1);
  for (uint32_t row = 0; row < 100; ++row) {
    ExecGraphBuilder::Task task;
    task.cost_row = row;
    task.name = "t";
    builder.add_task(std::move(task));
    costs.at(row, DeviceId(0)) = {1000, 800, 1200, CostSource::kPredicted, Bound::kNone};
  }
  const auto graph = builder.build(nullptr);
  REQUIRE(graph.ok());
  const std::vector<DeviceId> devices(graph->task_count(), DeviceId(0));
  const LatencyInterval interval = latency_interval(*graph, costs, devices, 100'000);
  CHECK(interval.low_ns > 80'000);
  CHECK(interval.low_ns < 100'000);
  CHECK(interval.high_ns > 100'000);
  CHECK(interval.high_ns < 120'000);
}

TEST_CASE("Latency interval: what only the largest sizes need may not run at all") {
  CHECK(with_largest_sizes({90'000, 110'000}, 100'000, 0).low_ns == 90'000);
  CHECK(with_largest_sizes({90'000, 110'000}, 100'000, 60'000).low_ns == 36'000);
  CHECK(with_largest_sizes({90'000, 110'000}, 100'000, 60'000).high_ns == 110'000);
  CHECK(with_largest_sizes({90'000, 110'000}, 100'000, 200'000).low_ns == 450);  // above 0
}

TEST_CASE("Latency interval: a host of unknown speed widens runs that wait for it") {
  CHECK(host_spread(1, false) == 1.4);
  CHECK(host_spread(1.31, false) == 1.15);
  CHECK(host_spread(1, true) > 1.4);
  CHECK(host_spread(1.31, true) > 1.15);
  const LatencyInterval exact{100'000, 100'000};
  // The host takes all of the time, the device a quarter.
  const LatencyInterval waits = with_host_doubt(exact, 100'000, {100'000, 25'000, 1.25});
  CHECK(waits.low_ns == 80'000);
  CHECK(waits.high_ns == 125'000);
  // A faster host helps until the device limits.
  CHECK(with_host_doubt(exact, 100'000, {100'000, 90'000, 1.25}).low_ns == 90'000);
  // The device limits: a faster host changes nothing, a slower one may limit.
  const LatencyInterval busy = with_host_doubt(exact, 100'000, {90'000, 100'000, 1.25});
  CHECK(busy.low_ns == 100'000);
  CHECK(busy.high_ns == 112'500);
  CHECK(with_host_doubt(exact, 100'000, {0, 100'000, 1.4}).high_ns == 100'000);
  // With the doubt of the operators: squares add up.
  const LatencyInterval both = with_host_doubt({90'000, 110'000}, 100'000, {100'000, 25'000, 1.25});
  CHECK(both.high_ns ==
        std::llround(100'000 * std::exp(std::hypot(std::log(1.1), std::log(1.25)))));
}

TEST_CASE("Latency interval: respects the lower bound and a device's scale") {
  ExecGraphBuilder builder;
  CostTable costs(1, 2);
  for (int i = 0; i < 2; ++i) {
    ExecGraphBuilder::Task task;
    task.name = "t";
    builder.add_task(std::move(task));
  }
  // As a bound: never less, up to twice as long.
  costs.at(0, DeviceId(0)) = {10'000, 10'000, 20'000, CostSource::kBoundOnly, Bound::kNone};
  costs.at(0, DeviceId(1)) = {10'000, 10'000, 20'000, CostSource::kBoundOnly, Bound::kNone};
  costs.interval_scale(DeviceId(1)) = 0.5;
  const auto graph = builder.build(nullptr);
  REQUIRE(graph.ok());
  const std::vector<DeviceId> first(2, DeviceId(0));
  const std::vector<DeviceId> second(2, DeviceId(1));
  const LatencyInterval wide = latency_interval(*graph, costs, first, 20'000);
  const LatencyInterval narrow = latency_interval(*graph, costs, second, 20'000);
  // Below only runs scatter: 8 % x 1.2816. Above the operators, equal and so wrong alike:
  // 20,000 ns of 1.2816 deviations; beyond half of the latency along the tangent.
  CHECK(wide.low_ns == std::llround(20'000 / std::exp(0.08 * 1.2816)));
  CHECK(wide.high_ns ==
        std::llround(20'000 * std::exp(0.5) * (1 + std::hypot(1.0, 0.08 * 1.2816) - 0.5)));
  CHECK(narrow.low_ns == std::llround(20'000 / std::exp(0.04 * 1.2816)));
  CHECK(narrow.high_ns == std::llround(20'000 * std::exp(std::hypot(0.5, 0.04 * 1.2816))));
  // An error that all operators share counts once, whether the operators' intervals contain it
  // alone or an error of their own in addition.
  costs.common_spread(DeviceId(1)) = 2;
  const LatencyInterval shared = latency_interval(*graph, costs, second, 20'000);
  CHECK(shared.high_ns == std::llround(20'000 * std::exp(std::hypot(0.04 * 1.2816, std::log(2)))));
  costs.at(0, DeviceId(1)).high_ns =
      std::llround(10'000 * std::exp(std::hypot(std::log(2), std::log(2))));
  const LatencyInterval both = latency_interval(*graph, costs, second, 20'000);
  CHECK(static_cast<double>(both.high_ns) ==
        Approx(20'000 * std::exp(std::hypot(0.5, 0.04 * 1.2816, std::log(2)))).epsilon(1e-3));
}

TEST_CASE("Validation: text and JSON have the same content") {
  ValidatedRun run = validated_run("net", 1'000'000, 1'100'000);
  run.dims = "sequence=128";
  run.measured_ops = 5;
  run.predicted_ops = 7;
  run.measured_bytes = 1000;
  run.predicted_bytes = 900;
  const std::string text = validation_text({run}, "model");
  CHECK_THAT(text, Catch::Contains("net sequence=128") && Catch::Contains("+10.0") &&
                       Catch::Contains("7 for 5") && Catch::Contains("mean error 10.0 %"));
  const auto json = nlohmann::json::parse(validation_json({run}, "model"));
  CHECK(json["summary"]["mean_error"] == Approx(0.1));
  CHECK(json["summary"]["mean_memory_error"] == Approx(0.1));
  CHECK(json["runs"][0]["inside"] == true);
  CHECK(json["runs"][0]["measured_ops"] == 5);
}

}  // namespace
}  // namespace dfsim
