// Which measured CPU is of the same kind as a processor, by what CPUID says of it.
#pragma once

#include <string>
#include <string_view>

namespace dfsim::inline study {

// Vendor, family and model number as CPUID gives them and the kernel lists them in /proc/cpuinfo.
struct CpuIdentity {
  std::string name;    // "Intel(R) Xeon(R) Processor @ 2.50GHz"; "" = not listed (Arm)
  std::string vendor;  // "GenuineIntel", "AuthenticAMD"; "" = not listed
  int family = -1;     // -1 = not listed
  int model = -1;
};

// Reads the first processor of a text in /proc/cpuinfo's form. It skips lines that it does not
// know, and numbers that are none. O(lines of the first processor).
CpuIdentity parse_cpuinfo(std::string_view text);

// Reads that of the machine; all fields are unknown where the kernel lists nothing.
CpuIdentity this_cpu();

// A model that ships for a CPU of the same design, and whether it is one.
struct NearestCpu {
  std::string_view model;  // "xeon-cascade-lake"
  bool same_design = false;
};

// The model whose CPU has the processor's cores; for designs without measurements the CPU with the
// most measurements. O(1).
NearestCpu nearest_measured_cpu(const CpuIdentity& cpu);

}  // namespace dfsim::inline study
