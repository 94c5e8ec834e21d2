// Roofs: the shipped ones lie above every measured network, and measuring them gives each level.
#include "study/measuring/roofs.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/io/data_dir.h"
#include "base/io/file.h"
#include "datasets/profiles/runs.h"
#include "hardware/memory_levels.h"
#include "hardware/platform_loader.h"
#include "study/measuring/bare_hardware.h"
#include "study/measuring/roof_kernels.h"
#include "study/roofline/study_roofline.h"

using namespace dfsim;

namespace {

struct MeasuredSet {
  const char* runs;
  const char* hardware;
};

constexpr MeasuredSet kSets[] = {
    {"epyc-genoa/fresh_runs.csv", "epyc-genoa"},
    {"epyc-genoa/fresh_runs.csv", "epyc-genoa-1t"},
    {"epyc-genoa/known_runs.csv", "epyc-genoa"},
    {"epyc-genoa/known_runs.csv", "epyc-genoa-1t"},
    {"epyc-genoa/unseen_runs.csv", "epyc-genoa"},
    {"epyc-genoa/unseen_runs.csv", "epyc-genoa-1t"},
    {"epyc-milan/known_runs.csv", "epyc-milan"},
    {"epyc-milan/known_runs.csv", "epyc-milan-1t"},
    {"epyc-milan/unseen_runs.csv", "epyc-milan"},
    {"epyc-milan/unseen_runs.csv", "epyc-milan-1t"},
    {"epyc-milan/int8_runs.csv", "epyc-milan-1t"},
    {"epyc-turin/known_runs.csv", "epyc-turin"},
    {"epyc-turin/known_runs.csv", "epyc-turin-1t"},
    {"xeon-cascade-lake/known_runs.csv", "xeon-cascade-lake"},
    {"xeon-cascade-lake/known_runs.csv", "xeon-cascade-lake-1t"},
};

std::vector<std::string> networks_folders() {
  std::vector<std::string> folders;
  for (const char* const member :
       {"graphs/zoo/resnet18.onnx", "datasets/measured/networks/README.md"}) {
    const auto path = find_data_file(member);
    REQUIRE(path.ok());
    folders.push_back(std::filesystem::path(*path).parent_path().string());
  }
  return folders;
}

}  // namespace

TEST_CASE("Roofs: no measured network lies above the roofs of its CPU by more than 3 %") {
  size_t networks = 0;
  for (const MeasuredSet& set : kSets) {
    const auto path = find_data_file(std::string("datasets/measured/") + set.runs);
    REQUIRE(path.ok());
    const auto runs = read_runs(*path);
    const auto platform = load_platform(set.hardware);
    REQUIRE(runs.ok());
    REQUIRE(platform.ok());
    std::set<int64_t> batches;
    for (const NetworkRun& run : *runs) {
      if (run.device == platform->devices.front().model) {
        batches.insert(run.batch);
      }
    }
    REQUIRE_FALSE(batches.empty());
    for (const int64_t batch : batches) {
      RooflineOptions options;
      options.source.model.path = *path;
      options.source.model.batch = batch;
      options.source.hardware = set.hardware;
      options.source.networks = networks_folders();
      const auto study = study_roofline(options);
      INFO(set.runs << " on " << set.hardware << ", batch " << batch);
      INFO(study.status().message());
      REQUIRE(study.ok());
      CHECK(study->rooflines.front().bare_roofs);
      for (const RoofPoint& network : study->rooflines.front().ops) {
        INFO(network.name);
        CHECK(network.efficiency() > 0.01);
        CHECK(network.efficiency() <= 1.03);
        ++networks;
      }
    }
  }
  CHECK(networks > 400);
}

TEST_CASE("Roofs: a level need not move what the caches before it hold") {
  DeviceRoofs roofs;
  roofs.device.memory_bytes_per_s = 10;
  roofs.caches = {{"L1", 100, 50, ""}, {"L2", 20, 200, ""}};
  // The memory alone, as for hardware files without roofs.
  CHECK(least_memory_seconds(roofs, 400) == Approx(40));
  roofs.of_all_levels = true;
  CHECK(least_memory_seconds(roofs, 50) == Approx(0.5));
  CHECK(least_memory_seconds(roofs, 150) == Approx(5));   // 100 bytes through L2
  CHECK(least_memory_seconds(roofs, 400) == Approx(20));  // 200 bytes from the memory
  CHECK(least_memory_seconds(roofs, 210) == Approx(8));   // 160 bytes through L2
  roofs.caches.clear();
  CHECK(least_memory_seconds(roofs, 400) == Approx(40));
}

TEST_CASE("Trajectories: a step between times that are the bound is not explained") {
  std::vector<RooflineReport> rooflines(2);
  for (size_t i = 0; i < 2; ++i) {
    RoofPoint& point = rooflines[i].network;
    point.flops = i == 0 ? 1e9 : 2e9;
    point.bytes = 1e8;
    point.time_s = 1e-3;
    point.source = CostSource::kPredicted;
    rooflines[i].roofs = {{DType::kUnknown, false, 1e13}};
    rooflines[i].bytes_per_s = 1e12;
  }
  const auto reading = [&rooflines] {
    return make_trajectories(rooflines, {.numbers = {1, 2}, .names = {}})
        .front()
        .steps.front()
        .reading;
  };
  CHECK(reading() == StepReading::kBetterReuse);
  rooflines[0].network.source = CostSource::kPrior;
  CHECK(reading() == StepReading::kPrior);
  rooflines[1].network.source = CostSource::kBoundOnly;
  CHECK(reading() == StepReading::kBoundOnly);
}

TEST_CASE("Roofs: measuring gives a rate per dtype and per level") {
  if (compute_kernels().empty()) {
    CHECK(measure_roofs({}).status().code() == StatusCode::kFailed);
    return;
  }
  const auto roofs = measure_roofs({.threads = 1, .seconds = 0.001});
  INFO(roofs.status().message());
  REQUIRE(roofs.ok());
  REQUIRE(roofs->peaks.size() >= 2);
  CHECK(roofs->peaks[0].dtype == DType::kFloat64);
  CHECK(roofs->peaks[1].dtype == DType::kFloat32);
  for (const MeasuredPeak& peak : roofs->peaks) {
    INFO(peak.kernel);
    CHECK(peak.typical_flops_per_s > 0);
    CHECK(peak.flops_per_s >= peak.typical_flops_per_s);
    // 1024 bits of operands in two units of one core, at 10 GHz: chains that the compiler merged
    // would seem faster.
    CHECK(peak.flops_per_s < 2 * 2 * (512.0 / dtype_bits(peak.dtype)) * 10e9);
  }
  REQUIRE_FALSE(roofs->bandwidths.empty());
  CHECK(roofs->bandwidths.back().level == "memory");
  for (const MeasuredBandwidth& level : roofs->bandwidths) {
    CHECK(level.typical_bytes_per_s > 0);
    CHECK(level.bytes_per_s >= level.typical_bytes_per_s);
    CHECK((level.bytes > 0) == (level.level != "memory"));
  }
  CHECK(roofs->product.flops_per_s < 2 * 2 * (512.0 / 32) * 10e9);
  CHECK(product_kernels().empty() == (roofs->product.flops_per_s == 0));
  const auto parsed = nlohmann::json::parse(roofs_json({*roofs}));
  CHECK(parsed["schema"] == "dfsim.roofs/1");
  CHECK(parsed["threads"]["1"]["bandwidths"].size() == roofs->bandwidths.size());
}

TEST_CASE("Bare hardware: a file with typical rates that loads and predicts from another CPU") {
  HostRoofs roofs;
  roofs.threads = 2;
  roofs.peaks = {{DType::kFloat64, 100e9, 50e9, "avx2 fma"},
                 {DType::kFloat32, 200e9, 100e9, "avx2 fma"},
                 {DType::kInt8, 400e9, 200e9, "avx2 int8"}};
  roofs.bandwidths = {{"L1", 400e9, 300e9, 64 << 10, "sum"},
                      {"L2", 200e9, 150e9, 2 << 20, "sum"},
                      {"memory", 20e9, 16e9, 0, "triad"}};
  roofs.product = {DType::kFloat32, 180e9, 70e9, "avx2 product"};
  const std::string path = (std::filesystem::temp_directory_path() / "dfsim_bare.yaml").string();
  REQUIRE(write_file(path, bare_hardware("mine", roofs, {}, "0.1.0")).ok());
  const auto platform = load_platform(path);
  INFO(platform.status().message());
  REQUIRE(platform.ok());
  CHECK(platform->name == "mine");
  const DeviceSpec& cpu = platform->devices.front();
  CHECK(cpu.type == DeviceType::kCpu);
  CHECK(cpu.compute_units == 2);
  CHECK(cpu.peak_flops_per_s(DType::kFloat32, false) == Approx(70e9));
  CHECK(cpu.peak_flops_per_s(DType::kInt8, false) == Approx(200e9));
  CHECK(cpu.memory_bytes_per_s == Approx(16e9));
  CHECK(cpu.l2_bytes == 2 << 20);
  CHECK(cpu.cost_model == "epyc-genoa");
  const auto levels = load_memory_levels(path, cpu.model);
  REQUIRE(levels.ok());
  REQUIRE(levels->size() == 2);
  CHECK((*levels)[1].bytes_per_s == Approx(200e9));
  const auto best = load_roofs(path, cpu.model);
  REQUIRE(best.ok());
  CHECK(best->memory_bytes_per_s == Approx(20e9));
  CHECK(best->peaks.size() == 3);
}

TEST_CASE("Roofs: more threads than cores are an error") {
  if (!compute_kernels().empty()) {
    CHECK(measure_roofs({.threads = 100000, .seconds = 0.001}).status().code() ==
          StatusCode::kInvalidInput);
  }
}
