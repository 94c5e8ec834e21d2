// Which measured CPU a processor is like, from texts of /proc/cpuinfo's form, and what roofs alone
// refuse.

#include <catch2/catch.hpp>

#include <filesystem>

#include "study/measuring/bare_hardware.h"
#include "study/measuring/calibrate.h"
#include "study/measuring/cpu_identity.h"

namespace dfsim {
namespace {

TEST_CASE("CPU identity: the first processor of /proc/cpuinfo counts") {
  const CpuIdentity cpu = parse_cpuinfo(
      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
      "model name\t: Intel(R) Xeon(R) Processor @ 2.50GHz\nflags\t\t: fpu vme\n\n"
      "processor\t: 1\nvendor_id\t: Other\ncpu family\t: 7\nmodel\t\t: 1\nmodel name\t: Other\n");
  CHECK(cpu.name == "Intel(R) Xeon(R) Processor @ 2.50GHz");
  CHECK(cpu.vendor == "GenuineIntel");
  CHECK(cpu.family == 6);
  CHECK(cpu.model == 85);
}

TEST_CASE("CPU identity: what is not listed or no number stays unknown") {
  const CpuIdentity arm = parse_cpuinfo("processor\t: 0\nBogoMIPS\t: 50.00\nCPU part\t: 0xd40\n");
  CHECK(arm.vendor.empty());
  CHECK(arm.family == -1);
  const CpuIdentity odd =
      parse_cpuinfo("vendor_id : AuthenticAMD\ncpu family : 25x\nmodel :\nno colon");
  CHECK(odd.vendor == "AuthenticAMD");
  CHECK(odd.family == -1);
  CHECK(odd.model == -1);
  CHECK(parse_cpuinfo("").name.empty());
}

TEST_CASE("Nearest CPU: the measured one with the same cores, else the one with most rows") {
  const auto nearest = [](const char* vendor, int family, int model) {
    return nearest_measured_cpu({.name = "", .vendor = vendor, .family = family, .model = model});
  };
  CHECK(nearest("AuthenticAMD", 25, 17).model == "epyc-genoa");
  CHECK(nearest("AuthenticAMD", 25, 0xa0).model == "epyc-genoa");
  CHECK(nearest("AuthenticAMD", 25, 1).model == "epyc-milan");
  CHECK(nearest("AuthenticAMD", 25, 1).same_design);
  CHECK(nearest("AuthenticAMD", 25, 0x50).model == "epyc-milan");
  CHECK(nearest("AuthenticAMD", 26, 2).model == "epyc-turin");
  CHECK(nearest("AuthenticAMD", 26, 2).same_design);
  CHECK(nearest("AuthenticAMD", 23, 49).model == "epyc-milan");
  CHECK_FALSE(nearest("AuthenticAMD", 23, 49).same_design);
  CHECK(nearest("GenuineIntel", 6, 85).model == "xeon-cascade-lake");
  CHECK(nearest("GenuineIntel", 6, 85).same_design);
  CHECK(nearest("GenuineIntel", 6, 143).model == "epyc-genoa");
  CHECK_FALSE(nearest("", -1, -1).same_design);
  CHECK(nearest("", -1, -1).model == "epyc-genoa");
}

TEST_CASE("Bare hardware: names the model of the CPU with the same cores") {
  HostRoofs roofs;
  roofs.peaks = {{DType::kFloat32, 200e9, 100e9, "avx512 fma"}};
  roofs.bandwidths = {{"memory", 20e9, 16e9, 0, "triad"}};
  const std::string text = bare_hardware(
      "mine", roofs,
      {.name = "A \"quoted\" CPU", .vendor = "GenuineIntel", .family = 6, .model = 85}, "0.1.0");
  CHECK(text.find("cost_model: xeon-cascade-lake  # of a machine with the same cores") !=
        std::string::npos);
  CHECK(text.find("A  quoted  CPU, bare, 1 thread") != std::string::npos);
  CHECK(bare_hardware("mine", roofs, {}, "0.1.0").find("cost_model: epyc-genoa  # the nearest") !=
        std::string::npos);
}

TEST_CASE("Calibrate: roofs alone refuse what only a model learns, before anything is written") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "dfsim_roofs_alone";
  std::filesystem::remove_all(folder);
  CalibrateOptions like;
  like.directory = folder.string();
  like.roofs = "only";
  CalibrateOptions cover = like;
  like.like = "epyc-genoa";
  cover.cover = {"model.onnx"};
  CHECK(calibrate(like).status().code() == StatusCode::kInvalidInput);
  CHECK(calibrate(cover).status().code() == StatusCode::kInvalidInput);
  CHECK_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace dfsim
