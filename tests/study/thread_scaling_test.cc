// Fits to runs that a known law made, and a roofline of two operators scaled by hand.
#include "study/roofline/scaling/thread_scaling.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "base/rng.h"
#include "hardware/platform_loader.h"

using namespace dfsim;

namespace {

NetworkRun run_of(int network, int threads, double seconds, int64_t ops) {
  NetworkRun run;
  run.network = "n" + std::to_string(network);
  run.device = "Some CPU, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  run.time_ns = static_cast<TimeNs>(seconds * 1e9);
  run.ops = ops;
  return run;
}

// Networks on 1, 2 and 4 threads: a twentieth is serial, 3 us per operator and doubling.
std::vector<NetworkRun> lawful_runs() {
  std::vector<NetworkRun> runs;
  for (int i = 0; i < 30; ++i) {
    const double one_s = 0.002 * (1 + i);
    const int64_t ops = 20 + (i * 37) % 300;
    for (const int threads : {1, 2, 4}) {
      const double time =
          one_s * (0.05 + 0.95 / threads) + 3e-6 * std::log2(threads) * static_cast<double>(ops);
      runs.push_back(run_of(i, threads, time, ops));
    }
  }
  return runs;
}

// Eight cores: 8 GFLOP/s and 40 GB/s in all; a core draws 10 GB/s.
DeviceSpec eight_cores() {
  DeviceSpec device;
  device.type = DeviceType::kCpu;
  device.compute_units = 8;
  device.peaks = {{DType::kFloat32, 8e9, 0}};
  device.memory_bytes_per_s = 40e9;
  return device;
}

constexpr double kSerial = 0.1;
constexpr double kForkSeconds = 0.01;

ThreadScaling made_scaling() {
  ThreadScaling scaling;
  scaling.serial = kSerial;
  scaling.fork_s = kForkSeconds;
  scaling.core_bytes_per_s = 10e9;
  return scaling;
}

// One core: a product of 1 GFLOP in 2 s (half of the roof) and a copy of 10 GB in 1 s.
RooflineReport one_core() {
  RooflineReport one;
  RoofPoint product;
  product.name = "product";
  product.flops = 1e9;
  product.bytes = 1e6;
  product.compute_s = product.bound_s = 1;
  product.memory_s = 1e-4;
  product.time_s = 2;
  product.source = CostSource::kPredicted;
  product.bound = Bound::kCompute;
  RoofPoint copy;
  copy.name = "copy";
  copy.bytes = 10e9;
  copy.memory_s = copy.bound_s = 1;
  copy.time_s = 1;
  copy.source = CostSource::kPredicted;
  copy.bound = Bound::kMemory;
  one.ops = {product, copy};
  return one;
}

const RoofPoint& named(const RooflineReport& report, const std::string& name) {
  for (const RoofPoint& op : report.ops) {
    if (op.name == name) {
      return op;
    }
  }
  FAIL("no operator " << name);
  return report.ops.front();
}

}  // namespace

TEST_CASE("fit_thread_scaling: finds the law that made the runs") {
  const auto scaling = fit_thread_scaling(lawful_runs());
  REQUIRE(scaling.ok());
  CHECK(scaling->pairs == 60);
  CHECK(scaling->serial == Approx(0.05).epsilon(0.01));
  CHECK(scaling->fork_s == Approx(3e-6).epsilon(0.01));
  CHECK(scaling->median_error < 1e-3);
}

TEST_CASE("fit_thread_scaling: a few runs that other work disturbed do not move it") {
  std::vector<NetworkRun> runs = lawful_runs();
  for (size_t i = 1; i < runs.size(); i += 12) {
    runs[i].time_ns *= 3;
  }
  const auto scaling = fit_thread_scaling(runs);
  REQUIRE(scaling.ok());
  CHECK(scaling->serial == Approx(0.05).margin(0.02));
  CHECK(scaling->fork_s == Approx(3e-6).epsilon(0.3));
}

TEST_CASE("fit_thread_scaling: refuses runs of one thread count") {
  std::vector<NetworkRun> runs = lawful_runs();
  std::erase_if(runs, [](const NetworkRun& run) { return run.device != "Some CPU, 1 thread"; });
  const auto scaling = fit_thread_scaling(runs);
  REQUIRE_FALSE(scaling.ok());
  CHECK(scaling.status().message().find("found 0 networks") != std::string::npos);
}

TEST_CASE("scaling_for: the CPUs that ship are fitted, with a plausible law") {
  for (const char* name : {"xeon-8380", "epyc-7742"}) {
    const auto platform = load_platform(name);
    REQUIRE(platform.ok());
    const auto scaling = scaling_for(platform->devices.front());
    INFO(scaling.status().message());
    REQUIRE(scaling.ok());
    CHECK(scaling->pairs >= 50);
    CHECK(scaling->serial < 0.15);
    CHECK(scaling->fork_s > 1e-7);
    CHECK(scaling->fork_s < 5e-5);
    CHECK(scaling->median_error < 0.05);
    CHECK(scaling->core_bytes_per_s > 1e9);
  }
}

TEST_CASE("shared_device: peaks divide, the bandwidth saturates") {
  const DeviceSpec whole = eight_cores();
  const DeviceSpec two = shared_device(whole, {2, 1}, made_scaling());
  CHECK(two.peaks.front().flops_per_s == 2e9);
  CHECK(two.memory_bytes_per_s == 20e9);
  CHECK(two.compute_units == 2);
  CHECK(shared_device(whole, {8, 1}, made_scaling()).memory_bytes_per_s == 40e9);
  CHECK(shared_device(whole, {2, 4}, made_scaling()).memory_bytes_per_s == 10e9);
}

TEST_CASE("scaled_roofline: times by hand for four threads") {
  DeviceRoofs whole;
  whole.device = eight_cores();
  const RooflineReport four = scaled_roofline(one_core(), whole, {4, 1}, made_scaling());
  const double fork = 2 * kForkSeconds;  // two doublings
  // 2 s x (0.1 + 0.9 / 4), and the copy at 40 instead of 10 GB/s.
  CHECK(named(four, "product").time_s == Approx(0.65 + fork));
  CHECK(named(four, "copy").time_s == Approx(0.325 + fork));
  CHECK(named(four, "copy").source == CostSource::kExtrapolated);
  CHECK(four.bytes_per_s == 40e9);
  CHECK_FALSE(four.scaling.empty());
  // Eight threads draw no more from the memory than four.
  const RooflineReport eight = scaled_roofline(one_core(), whole, {8, 1}, made_scaling());
  CHECK(named(eight, "copy").time_s == Approx(0.325 + 3 * kForkSeconds));
  CHECK(named(eight, "product").time_s == Approx(2 * (0.1 + 0.9 / 8) + 3 * kForkSeconds));
}

TEST_CASE("scaled_roofline: copies share the bandwidth and add up their work") {
  DeviceRoofs whole;
  whole.device = eight_cores();
  const RooflineReport copies = scaled_roofline(one_core(), whole, {1, 8}, made_scaling());
  // Each of eight gets 5 GB/s, half of what a core alone draws.
  CHECK(named(copies, "copy").time_s == Approx(0.1 + 0.9 * 2));
  CHECK(named(copies, "copy").bytes == 80e9);
  CHECK(named(copies, "product").time_s == Approx(2));
  CHECK(named(copies, "product").flops == 8e9);
  CHECK(copies.bytes_per_s == 40e9);
}

TEST_CASE("scaled_roofline: one thread is the roofline of one core") {
  DeviceRoofs whole;
  whole.device = eight_cores();
  const RooflineReport one = scaled_roofline(one_core(), whole, {1, 1}, made_scaling());
  CHECK(named(one, "product").time_s == 2);
  CHECK(named(one, "copy").time_s == 1);
}
