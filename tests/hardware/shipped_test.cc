// The files that ship: each loads, each figure is cited, and some are checked by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include "hardware/collective_timing.h"
#include "hardware/platform_loader.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

constexpr double kTera = 1e12;

Platform load(const std::string& name) {
  StatusOr<Platform> platform = load_platform(name);
  INFO(name << ": " << platform.status().message());
  REQUIRE(platform.ok());
  return *std::move(platform);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_cited(const std::vector<Citation>& citations, const std::string& figure) {
  return std::any_of(citations.begin(), citations.end(), [&figure](const Citation& citation) {
    return citation.figure == figure && !citation.source.empty();
  });
}

TEST_CASE("Shipped hardware: every file loads, has the name of its file and cites its figures") {
  const std::vector<std::string> files = files_in(DFSIM_SOURCE_DIR "/hardware/platforms");
  REQUIRE(files.size() >= 19);
  CHECK(builtin_platforms() == files);
  for (const std::string& file : files) {
    INFO(file);
    const Platform platform = load(file);
    CHECK(platform.name == file);
    CHECK_FALSE(platform.description.empty());
    for (const DeviceSpec& device : platform.devices) {
      CHECK_FALSE(device.model.empty());
      CHECK(device.peak_flops_per_s(DType::kFloat32, false) > 0);
      for (const char* figure :
           {"vector_tflops", "memory_gib", "memory_bandwidth_gb_per_s", "l2_mib", "compute_units",
            "launch_overhead_us", "queues", "copy_engines"}) {
        INFO(device.name << " " << figure);
        CHECK(is_cited(device.citations, figure));
      }
    }
    for (const LinkSpec& link : platform.links) {
      INFO(link.name);
      CHECK_FALSE(link.source.empty());
    }
    for (const CollectiveTiming& fit : platform.collectives) {
      CHECK_FALSE(fit.source.empty());
    }
  }
}

TEST_CASE(
    "Shipped hardware: names and aliases are unique and lower case, and each finds its file") {
  std::map<std::string, std::string> owner;
  for (const std::string& name : builtin_platforms()) {
    const Platform platform = load(name);
    std::vector<std::string> names = platform.aliases;
    names.push_back(name);
    for (const std::string& alias : names) {
      INFO(alias);
      CHECK(owner.emplace(alias, name).second);
      CHECK(load(alias).source_file == platform.source_file);
      CHECK(load(alias + ".yaml").source_file == platform.source_file);
    }
  }
  CHECK(owner.at("a100") == "a100-sxm4-80gb");
  CHECK(load("A100").name == "a100-sxm4-80gb");
}

TEST_CASE("Shipped runtimes: every file loads and cites its host times") {
  const std::vector<std::string> files = files_in(DFSIM_SOURCE_DIR "/hardware/runtimes");
  CHECK(builtin_runtimes() == files);
  for (const std::string& file : files) {
    INFO(file);
    const StatusOr<RuntimeSpec> runtime = load_runtime(file);
    REQUIRE(runtime.ok());
    CHECK(runtime->name == file);
    CHECK_FALSE(runtime->description.empty());
    if (runtime->dispatch_ns > 0) {
      CHECK(is_cited(runtime->citations, "dispatch_us"));
    }
  }
  const StatusOr<RuntimeSpec> graph = load_runtime("cuda-graph.yaml");
  REQUIRE(graph.ok());
  CHECK(graph->dispatch_ns == 0);
  for (const DeviceType type : {DeviceType::kCpu, DeviceType::kGpu, DeviceType::kNpu}) {
    CHECK(load_runtime(std::string(default_runtime(type))).ok());
  }
}

TEST_CASE("Shipped hardware: a100 has the figures of its data sheet") {
  const Platform platform = load("a100");
  CHECK(platform.runtime.name == "torch-eager");
  REQUIRE(platform.devices.size() == 1);
  const DeviceSpec& gpu = platform.devices[0];
  CHECK(gpu.type == DeviceType::kGpu);
  CHECK(gpu.memory_bytes == 85'899'345'920);  // 80 GiB
  CHECK(gpu.l2_bytes == 41'943'040);          // what the CUDA driver reports
  CHECK(gpu.memory_bytes_per_s == Approx(2.039e12));
  CHECK(gpu.compute_units == 108);
  CHECK(gpu.launch_overhead_ns == 2'500);
  CHECK(gpu.cost_model == "a100");
  CHECK(gpu.peak_flops_per_s(DType::kFloat32, false) == Approx(19.5 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kFloat32, true) == Approx(19.5 * kTera));  // TF32 is off
  CHECK(gpu.tf32_flops_per_s == Approx(156 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kFloat16, false) == Approx(78 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kFloat16, true) == Approx(312 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kBFloat16, false) == Approx(39 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kBFloat16, true) == Approx(312 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kInt8, true) == Approx(624 * kTera));
  CHECK(gpu.peak_flops_per_s(DType::kFloat64, true) == Approx(19.5 * kTera));
}

TEST_CASE("Shipped hardware: other devices have the figures of their data sheets") {
  const DeviceSpec h200 = load("h200").devices[0];
  CHECK(h200.memory_bytes_per_s == Approx(4.8e12));
  CHECK(h200.peak_flops_per_s(DType::kBFloat16, true) == Approx(989.4 * kTera));
  CHECK(h200.peak_flops_per_s(DType::kFloat8E5M2, true) == Approx(1978.9 * kTera));
  const DeviceSpec t4 = load("t4").devices[0];
  CHECK(t4.memory_bytes_per_s == Approx(320e9));
  CHECK(t4.peak_flops_per_s(DType::kInt8, true) == Approx(130 * kTera));
  CHECK(load("v100").devices[0].peak_flops_per_s(DType::kBFloat16, true) == Approx(14 * kTera));
  CHECK(load("ascend910").runtime.name == "mindspore-graph");
  CHECK(load("ascend910").devices[0].type == DeviceType::kNpu);
  const Platform xeon = load("xeon");
  CHECK(xeon.runtime.name == "ort-cpu");
  CHECK(xeon.host.node == "cpu0");
  // 40 cores x 2.3 GHz x 64 operations.
  CHECK(xeon.devices[0].peak_flops_per_s(DType::kFloat32, true) == Approx(5.888e12).epsilon(1e-3));
}

TEST_CASE("Shipped hardware: the nodes have their published links and sockets") {
  const Platform dgx = load("dgx-a100");
  REQUIRE(dgx.devices.size() == 10);
  CHECK(dgx.devices[0].name == "gpu0");
  CHECK(dgx.devices[7].name == "gpu7");
  CHECK(dgx.devices[9].name == "cpu1");
  CHECK(dgx.devices[7].memory_bytes == load("a100").devices[0].memory_bytes);
  CHECK(dgx.host.node == "cpu0");
  const auto nvlinks = std::count_if(dgx.links.begin(), dgx.links.end(), [](const LinkSpec& link) {
    return link.to == "nvswitch" && link.bytes_per_s == 300e9;
  });
  CHECK(nvlinks == 8);
  const Platform two = load("pcie-2gpu");
  REQUIRE(two.devices.size() == 3);
  CHECK(two.links.size() == 3);
  CHECK(two.links[1].name == "pcie-gpu0");
}

TEST_CASE("Shipped hardware: a file loads fast") {
  // Well under a millisecond when the machine is idle; the least of many, with room for sanitizers.
  std::chrono::nanoseconds least = std::chrono::seconds(10);
  for (int i = 0; i < 50; ++i) {
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(load_platform("a100").ok());
    least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - start);
  }
  CHECK(least < std::chrono::milliseconds(20));
}

TEST_CASE("Shipped hardware: a node has the host that its GPU's own file has") {
  for (const auto& [node, gpu] : {std::pair("dgx-h100", "h100-sxm"), {"dgx-h200", "h200"}}) {
    const auto whole = load_platform(node);
    const auto one = load_platform(gpu);
    REQUIRE(whole.ok());
    REQUIRE(one.ok());
    CHECK(one->host.dispatch_speed > 1);
    CHECK(whole->host.dispatch_speed == one->host.dispatch_speed);
  }
}

}  // namespace
}  // namespace dfsim
