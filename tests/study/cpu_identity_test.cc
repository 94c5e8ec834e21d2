// Which measured CPU a processor is like, from texts of /proc/cpuinfo's form.

#include <catch2/catch.hpp>

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
  CHECK(nearest("AuthenticAMD", 23, 49).model == "epyc-milan");
  CHECK_FALSE(nearest("AuthenticAMD", 23, 49).same_design);
  CHECK(nearest("GenuineIntel", 6, 85).model == "xeon-cascade-lake");
  CHECK(nearest("GenuineIntel", 6, 85).same_design);
  CHECK(nearest("GenuineIntel", 6, 143).model == "epyc-genoa");
  CHECK_FALSE(nearest("", -1, -1).same_design);
  CHECK(nearest("", -1, -1).model == "epyc-genoa");
}

}  // namespace
}  // namespace dfsim
