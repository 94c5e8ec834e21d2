#include "hardware/memory_levels.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "hardware/platform_loader.h"

namespace dfsim {
namespace {

std::string machine(const std::string& device_lines) {
  return "name: m\nsources: {paper: \"a paper\"}\ndevices:\n  - name: d\n    model: D\n    type: "
         "cpu\n"
         "    vector_tflops: {fp32: 1}\n    memory_gib: 1\n    memory_bandwidth_gb_per_s: 10\n"
         "    compute_units: 1\n    launch_overhead_us: 1\n" +
         device_lines;
}

TEST_CASE("Memory levels: a hardware file gives its caches and their source") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "dfsim_memory_levels_test.yaml").string();
  REQUIRE(write_file(path, machine("    cache_levels:\n"
                                   "      - {name: L1, bandwidth_gb_per_s: 100, mib: 0.5}\n"
                                   "      - {name: L2, bandwidth_gb_per_s: 50, mib: 8}\n"
                                   "    cite: {cache_levels: paper}\n"))
              .ok());
  REQUIRE(load_platform(path).ok());
  const auto levels = load_memory_levels(path, "D");
  REQUIRE(levels.ok());
  REQUIRE(levels->size() == 2);
  CHECK(levels->at(0).name == "L1");
  CHECK(levels->at(0).bytes_per_s == 100e9);
  CHECK(levels->at(0).bytes == 524288);
  CHECK(levels->at(1).source == "a paper");
  CHECK(load_memory_levels(path, "another")->empty());
  std::filesystem::remove(path);
}

TEST_CASE("Memory levels: a platform uses the caches of the device file that it names") {
  const auto platform = load_platform("dgx-a100");
  REQUIRE(platform.ok());
  const auto levels = load_memory_levels("dgx-a100", platform->devices.front().model);
  REQUIRE(levels.ok());
  REQUIRE(levels->size() == 2);
  CHECK(levels->at(1).bytes_per_s == 7219e9);
  // 40 MiB of L2, as the device says itself.
  CHECK(levels->at(1).bytes == platform->devices.front().l2_bytes);
}

TEST_CASE("NUMA nodes: a hardware file gives their number and the link between them") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "dfsim_numa_test.yaml").string();
  const auto written = [&path](const std::string& numa, const std::string& cores) {
    std::string text = machine("    numa: " + numa + "\n    cite: {numa: paper}\n");
    text.replace(text.find("compute_units: 1"), 16, "compute_units: " + cores);
    REQUIRE(write_file(path, text).ok());
    return load_platform(path).status();
  };
  REQUIRE(written("{nodes: 2, link_gb_per_s: 5}", "4").ok());
  const auto numa = load_numa_nodes(path, "D");
  REQUIRE(numa.ok());
  CHECK(numa->nodes == 2);
  CHECK(numa->link_bytes_per_s == 5e9);
  CHECK(numa->source == "a paper");
  CHECK(load_numa_nodes(path, "another")->nodes == 1);
  for (const auto& [text, cores] : std::vector<std::pair<std::string, std::string>>{
           {"{nodes: 2, link_gb_per_s: 5}", "5"},
           {"{nodes: 1, link_gb_per_s: 5}", "4"},
           {"{nodes: 2}", "4"},
           {"{nodes: 2, link_gb_per_s: 5, hops: 1}", "4"}}) {
    INFO(text << " with " << cores);
    CHECK(written(text, cores).code() == StatusCode::kInvalidInput);
  }
  std::filesystem::remove(path);
}

TEST_CASE("Roofs: raise a copy of the device and leave predictions' peaks alone") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "dfsim_roofs_test.yaml").string();
  REQUIRE(write_file(path, machine("    roofs:\n"
                                   "      vector_tflops: {fp32: 3, int8: 12}\n"
                                   "      memory_bandwidth_gb_per_s: 4\n"
                                   "    cite: {roofs: paper}\n"))
              .ok());
  const auto platform = load_platform(path);
  REQUIRE(platform.ok());
  const DeviceSpec& device = platform->devices.front();
  CHECK(device.peak_flops_per_s(DType::kFloat32, false) == 1e12);
  const auto roofs = load_roofs(path, "D");
  REQUIRE(roofs.ok());
  CHECK(roofs->source == "a paper");
  CHECK(load_roofs(path, "another")->empty());
  const DeviceSpec raised = with_roofs(device, *roofs);
  CHECK(raised.peak_flops_per_s(DType::kFloat32, false) == 3e12);
  CHECK(raised.peak_flops_per_s(DType::kInt8, false) == 12e12);
  // A rate that was reached raises the roof.
  CHECK(raised.memory_bytes_per_s == 10e9);
  std::filesystem::remove(path);
}

TEST_CASE("Roofs: impossible ones are errors") {
  for (const char* lines :
       {"    roofs: 5\n", "    roofs: {fp32: 1}\n", "    roofs: {vector_tflops: {fp32: -1}}\n",
        "    roofs: {vector_tflops: {fp33: 1}}\n", "    roofs: {memory_bandwidth_gb_per_s: 0}\n"}) {
    INFO(lines);
    const auto platform = parse_platform(machine(lines), "m.yaml");
    REQUIRE_FALSE(platform.ok());
    CHECK(platform.status().message().starts_with("m.yaml:1"));
  }
}

TEST_CASE("Memory levels: impossible caches are errors") {
  for (const char* lines :
       {"    cache_levels: 5\n", "    cache_levels:\n      - {name: L1}\n",
        "    cache_levels:\n      - {name: L1, bandwidth_gb_per_s: -1, mib: 1}\n",
        "    cache_levels:\n      - {name: L1, bandwidth_gb_per_s: 1, mib: 1, ways: 8}\n",
        "    cache_levels: [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"}) {
    INFO(lines);
    const auto platform = parse_platform(machine(lines), "m.yaml");
    REQUIRE_FALSE(platform.ok());
    CHECK(platform.status().message().starts_with("m.yaml:1"));
    CHECK(platform.status().message().find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace dfsim
