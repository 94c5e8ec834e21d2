// Tests the meaning of the keys of a hardware file on small files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "hardware/platform_loader.h"
#include "hardware/yaml/yaml_tree.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBox = R"(name: box
devices:
  - name: gpu0
    type: gpu
    vector_tflops: {fp32: 10}
    memory_gib: 16
    memory_bandwidth_gb_per_s: 300
    compute_units: 40
    launch_overhead_us: 2
)";

Platform parse(const std::string& text) {
  StatusOr<Platform> platform = parse_platform(text, "box.yaml");
  INFO(platform.status().message());
  REQUIRE(platform.ok());
  return *std::move(platform);
}

TEST_CASE("parse_platform: the platform keeps the timings of collectives after its file is gone") {
  const std::string two = std::string(kBox) + R"(    count: 2
links:
  - {name: pcie, from: "gpu*", to: host, bandwidth_gb_per_s: 20, latency_us: 1}
collectives:
  - over: "pcie*"
    operation: all_reduce
    protocols:
      - {start_us: 80, step_us: 10, bandwidth_gb_per_s: 20}
)";
  Platform box = parse(two);
  box.source_file = "/nowhere/box.yaml";  // nothing is read a second time
  const Platform copy = box;
  REQUIRE(copy.collectives.size() == 1);
  CHECK(copy.collectives[0].over == "pcie*");
  CHECK(copy.collectives[0].operation == "all_reduce");
  REQUIRE(copy.collectives[0].protocols.size() == 1);
  CHECK(copy.collectives[0].protocols[0].start_ns == 80000);
  CHECK(copy.collectives[0].protocols[0].bytes_per_s == 20e9);
  CHECK(parse(kBox).collectives.empty());

  std::string bad = two;
  bad.replace(bad.find("pcie*\"\n    operation"), 5, "nvl*");
  const auto failure = parse_platform(bad, "box.yaml");
  REQUIRE_FALSE(failure.ok());
  CHECK(failure.status().message().rfind("box.yaml:", 0) == 0);
  CHECK(failure.status().message().find("'nvl*', the name of no link") != std::string::npos);
}

TEST_CASE("parse_platform: missing keys have their documented default") {
  const Platform box = parse(kBox);
  CHECK(box.runtime.name == "torch-eager");
  CHECK(box.host.node == "host");
  CHECK(box.host.memory_bytes == 0);
  CHECK(box.links.empty());
  const DeviceSpec& gpu = box.devices[0];
  CHECK(gpu.queues == 1);
  CHECK(gpu.copy_engines == 2);
  CHECK(gpu.overlap_slowdown == 1.0);
  CHECK_FALSE(gpu.allow_tf32);
  CHECK(gpu.l2_bytes == 0);
  CHECK(gpu.cost_model.empty());
  CHECK(gpu.launch_overhead_ns == 2'000);
}

TEST_CASE("parse_platform: reads every key in its unit") {
  const Platform box = parse(std::string(kBox) + R"(    matrix_tflops: {fp16: 80, tf32: 40}
    allow_tf32: true
    l2_mib: 4
    queues: 3
    copy_engines: 1
    overlap_slowdown: 1.25
    cost_model: mine
    model: "A box: mine"
    cite: {default: a, matrix_tflops.fp16: b}
description: text
aliases: [my-box]
sources: {a: first, b: second}
runtime: cuda-graph
host: {memory_gib: 64, source: a}
switches: [sw]
links:
  - {name: up, from: host, to: sw, bandwidth_gb_per_s: 12.5, latency_us: 0.25, duplex: half, sharing: fifo, source: b}
  - {from: sw, to: gpu0, bandwidth_gb_per_s: 1e1, latency_us: 0}
)");
  const DeviceSpec& gpu = box.devices[0];
  CHECK(gpu.peak_flops_per_s(DType::kFloat16, true) == Approx(80e12));
  CHECK(gpu.peak_flops_per_s(DType::kFloat32, true) == Approx(40e12));
  CHECK(gpu.peak_flops_per_s(DType::kFloat32, false) == Approx(10e12));
  CHECK(gpu.l2_bytes == 4 * 1024 * 1024);
  CHECK(gpu.queues == 3);
  CHECK(gpu.copy_engines == 1);
  CHECK(gpu.overlap_slowdown == 1.25);
  CHECK(gpu.cost_model == "mine");
  CHECK(gpu.model == "A box: mine");
  CHECK(box.runtime.name == "cuda-graph");
  CHECK(box.host.memory_bytes == 64LL * 1024 * 1024 * 1024);
  CHECK(box.host.source == "first");
  REQUIRE(box.links.size() == 2);
  CHECK(box.links[0].bytes_per_s == 12.5e9);
  CHECK(box.links[0].latency_ns == 250);
  CHECK_FALSE(box.links[0].full_duplex);
  CHECK(box.links[0].sharing == LinkSharing::kFifo);
  CHECK(box.links[0].source == "second");
  CHECK(box.links[1].name == "sw-gpu0");
  CHECK(box.links[1].full_duplex);
  CHECK(box.links[1].sharing == LinkSharing::kFair);
  const auto cited = [&gpu](const std::string& figure) -> std::string {
    for (const Citation& citation : gpu.citations) {
      if (citation.figure == figure) {
        return citation.source;
      }
    }
    return "";
  };
  CHECK(cited("memory_gib") == "first");
  CHECK(cited("matrix_tflops.fp16") == "second");
  CHECK(cited("matrix_tflops") == "first");
}

TEST_CASE("parse_platform: reuses, repeats and changes a device of another file") {
  const Platform box = parse(R"(name: box
devices:
  - {device: a100, name: gpu, count: 3, memory_gib: 40}
  - {device: xeon, name: cpu0}
switches: [sw]
links:
  - {name: up, from: sw, to: gpu*, bandwidth_gb_per_s: 10, latency_us: 1}
  - {from: cpu0, to: sw, bandwidth_gb_per_s: 10, latency_us: 1}
)");
  REQUIRE(box.devices.size() == 4);
  CHECK(box.devices[2].name == "gpu2");
  CHECK(box.devices[2].memory_bytes == 40LL * 1024 * 1024 * 1024);
  CHECK(box.devices[2].compute_units == 108);  // from the A100's file
  // So are the sources, but not that of the memory, which is this file's own and cites none.
  const auto is_cited = [&box](const std::string& figure) {
    const std::vector<Citation>& citations = box.devices[2].citations;
    return std::any_of(citations.begin(), citations.end(),
                       [&figure](const Citation& entry) { return entry.figure == figure; });
  };
  CHECK(is_cited("compute_units"));
  CHECK_FALSE(is_cited("memory_gib"));
  CHECK(box.devices[3].name == "cpu0");
  REQUIRE(box.links.size() == 4);
  CHECK(box.links[2].name == "up-gpu2");
  CHECK(box.links[2].from == "sw");
  CHECK(box.links[2].to == "gpu2");
  // A CPU in the platform holds the host's memory.
  CHECK(box.host.node == "cpu0");
  CHECK(box.host.memory_bytes == box.devices[3].memory_bytes);
}

TEST_CASE("parse_platform: new peaks replace all peaks of the base device") {
  const Platform box =
      parse("name: box\ndevices: [{device: a100, name: gpu0, matrix_tflops: {fp16: 100}}]\n");
  CHECK(box.devices[0].peak_flops_per_s(DType::kFloat16, true) == Approx(100e12));
  CHECK(box.devices[0].tf32_flops_per_s == 0);
  // int8 had matrix units only: what is left that can hold it is fp32.
  CHECK(box.devices[0].peak_flops_per_s(DType::kInt8, true) == Approx(19.5e12));
}

TEST_CASE("load_platform: finds device and runtime files next to the file that names them") {
  const fs::path folder = fs::temp_directory_path() / "dfsim_loader_test";
  fs::create_directories(folder);
  std::ofstream(folder / "mine.yaml") << kBox;
  std::ofstream(folder / "fast.yaml")
      << "name: fast\ndispatch_us: 0.5\nasynchronous: false\nfusions: [a, b]\n";
  std::ofstream(folder / "node.yaml")
      << "name: node\nruntime: fast.yaml\ndevices: [{device: mine.yaml, name: g}]\n";
  const StatusOr<Platform> node = load_platform((folder / "node.yaml").string());
  fs::remove_all(folder);
  INFO(node.status().message());
  REQUIRE(node.ok());
  CHECK(node->devices[0].name == "g");
  CHECK(node->runtime.name == "fast");
  CHECK(node->runtime.dispatch_ns == 500);
  CHECK(node->runtime.view_dispatch_ns == 500);  // as dispatch_us, unless given
  CHECK_FALSE(node->runtime.asynchronous);
  CHECK(node->runtime.fusions == std::vector<std::string>{"a", "b"});
}

TEST_CASE("parse_runtime: accepts fusion rules in one stage or in several") {
  const std::string head = "name: r\ndispatch_us: 1\nasynchronous: false\nfusions: ";
  const auto staged = parse_runtime(head + "[[a, b], [a]]\n", "r.yaml");
  REQUIRE(staged.ok());
  CHECK(staged->fusions == std::vector<std::string>{"a", "b", "", "a"});
  CHECK(parse_runtime(head + "[]\n", "r.yaml")->fusions.empty());
  for (const char* bad : {"[a, [b]]\n", "[[a], b]\n", "[[a], []]\n", "[{a: b}]\n", "a\n"}) {
    const auto refused = parse_runtime(head + bad, "r.yaml");
    INFO(bad);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.status().message().starts_with("r.yaml:4:"));
  }
}

TEST_CASE("parse_runtime: reads vendors and whether the runtime trains") {
  const std::string head = "name: r\ndispatch_us: 1\nasynchronous: true\n";
  const auto plain = parse_runtime(head, "r.yaml");
  REQUIRE(plain.ok());
  CHECK(plain->vendors.empty());
  CHECK(plain->trains);
  const auto narrow = parse_runtime(head + "vendors: [NVIDIA, AMD]\ntrains: false\n", "r.yaml");
  REQUIRE(narrow.ok());
  CHECK(narrow->vendors == std::vector<std::string>{"NVIDIA", "AMD"});
  CHECK_FALSE(narrow->trains);
  CHECK_FALSE(parse_runtime(head + "vendors: NVIDIA\n", "r.yaml").ok());
}

TEST_CASE("parse_runtime: refuses unknown keys and wrong values") {
  const auto message = [](const char* text) {
    return parse_runtime(text, "r.yaml").status().message();
  };
  CHECK(message("name: r\ndispatch_us: 1\n") ==
        "r.yaml:1:1: found a runtime without 'asynchronous', expected that key; add it, see "
        "docs/reference/hardware.md");
  CHECK(
      message("name: r\ndispatch_ms: 1\nasynchronous: true\n")
          .rfind("r.yaml:2:1: unknown key of a runtime 'dispatch_ms'; did you mean 'dispatch_us'?",
                 0) == 0);
  CHECK(message("name: r\ndispatch_us: -1\nasynchronous: true\n") ==
        "r.yaml:2:14: found '-1', expected a number from 0 to 1e+07 us; check the figure and its "
        "unit");
  CHECK(message("name: r\ndispatch_us: 1\nasynchronous: yes\n") ==
        "r.yaml:3:15: found 'yes' for 'asynchronous', expected one of: false, true; choose one");
}

TEST_CASE("load_platform: an unknown name gives the nearest one") {
  CHECK(load_platform("l400s").status().message().find("did you mean 'l40s'?") !=
        std::string::npos);
  CHECK(load_platform("h20").status().message().find("'h200'?") != std::string::npos);
  // A family or a vendor: its machines.
  const std::string rtx = load_platform("rtx").status().message();
  CHECK(rtx.find("did you mean 'rtx-") != std::string::npos);
  CHECK(rtx.find("'rtx-6000-ada'") != std::string::npos);
  CHECK(rtx.find("'a100") == std::string::npos);
  const std::string mi = load_platform("mi").status().message();
  CHECK(mi.find("did you mean 'mi100', 'mi210',") != std::string::npos);
  CHECK(load_platform("m1").status().message().find("'m1-max-cpu' or 'm1-max-gpu'?") !=
        std::string::npos);
  CHECK(load_platform("google").status().message().find("'tpu-v4' or 'tpu-v5e'?") !=
        std::string::npos);
  CHECK(load_platform("qqqqqqqq")
            .status()
            .message()
            .rfind("unknown hardware 'qqqqqqqq'; dfsim hardware lists", 0) == 0);
  CHECK(load_runtime("torch_eager").status().message().find("did you mean 'torch-eager'?") !=
        std::string::npos);
}

TEST_CASE("peak_flops_per_s: missing dtypes use the peak of a wider dtype, then of other units") {
  DeviceSpec device;
  device.peaks = {{DType::kFloat32, 10, 0}, {DType::kFloat16, 20, 80}, {DType::kInt8, 0, 160}};
  CHECK(device.peak_flops_per_s(DType::kFloat8E4M3, true) == 80);
  CHECK(device.peak_flops_per_s(DType::kBFloat16, false) == 20);
  CHECK(device.peak_flops_per_s(DType::kInt4, true) == 160);
  CHECK(device.peak_flops_per_s(DType::kInt8, false) == 10);  // no vector int8: fp32's units
  CHECK(device.peak_flops_per_s(DType::kInt64, true) == 10);
  CHECK(device.peak_flops_per_s(DType::kFloat64, true) == 0);
  DeviceSpec matrix_only;
  matrix_only.peaks = {{DType::kFloat16, 0, 256}};
  CHECK(matrix_only.peak_flops_per_s(DType::kFloat16, false) == 256);
  CHECK(DeviceSpec().peak_flops_per_s(DType::kFloat32, true) == 0);
}

TEST_CASE("parse_platform: reads numbers exactly or refuses them") {
  const auto bandwidth = [](const std::string& number) {
    std::string text = kBox;
    text.replace(text.find("300"), 3, number);
    return parse_platform(text, "box.yaml");
  };
  CHECK(bandwidth("+1.5e2")->devices[0].memory_bytes_per_s == 150e9);
  CHECK(bandwidth("0.000001")->devices[0].memory_bytes_per_s == Approx(1000));
  for (const char* bad : {"1_000", "1,000", "0b1", "1.2.3", "12abc", "1e-400", "-0", "~", "true",
                          "", "''", "{}", "1e99999999999"}) {
    INFO(bad);
    const StatusOr<Platform> platform = bandwidth(bad);
    REQUIRE_FALSE(platform.ok());
    CHECK(platform.status().code() == StatusCode::kInvalidInput);
  }
}

}  // namespace
}  // namespace dfsim
