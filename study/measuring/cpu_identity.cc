// The kernels of ONNX Runtime run on another machine with the same cores as they did on the
// measured one, but for clocks, memory and neighbours, and those show in the rates of a hardware
// file. So a hardware file from rates alone names the measured CPU with the same cores, not the one
// with the most measurements, wherever there is one.
#include "study/measuring/cpu_identity.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>

namespace dfsim::inline study {
namespace {

constexpr NearestCpu kMostMeasured = {"epyc-genoa", false};

// AMD's families of Zen 1 and 2 (23), Zen 3 and 4 (25), Zen 5 (26).
constexpr int kZen2Family = 23;
constexpr int kZen4Family = 25;
constexpr int kZen5Family = 26;
// Intel's Skylake-SP, Cascade Lake and Cooper Lake share a number: one core design with AVX-512.
constexpr int kIntelFamily = 6;
constexpr int kCascadeLakeModel = 85;

// Zen 4 within family 25: Genoa (0x10 to 0x1f), desktops and laptops (0x60 to 0x7f), Bergamo and
// Siena (0xa0 to 0xaf). The others are Zen 3.
bool is_zen4(int model) {
  const int group = model >> 4;
  return group == 0x1 || group == 0x6 || group == 0x7 || group == 0xa;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void take(std::string_view key, std::string_view value, CpuIdentity* cpu) {
  if (key == "model name") {
    cpu->name = value;
  } else if (key == "vendor_id") {
    cpu->vendor = value;
  } else if (key == "cpu family") {
    cpu->family = number(value).value_or(-1);
  } else if (key == "model") {
    cpu->model = number(value).value_or(-1);
  }
}

}  // namespace

CpuIdentity parse_cpuinfo(std::string_view text) {
  CpuIdentity cpu;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (cpu.vendor.empty()) {
        continue;
      }
      break;  // an empty line ends the first processor
    }
    take(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)), &cpu);
  }
  return cpu;
}

CpuIdentity this_cpu() {
  std::ifstream file("/proc/cpuinfo");
  return parse_cpuinfo(std::string(std::istreambuf_iterator<char>(file), {}));
}

NearestCpu nearest_measured_cpu(const CpuIdentity& cpu) {
  if (cpu.vendor == "AuthenticAMD" && cpu.family == kZen4Family) {
    return is_zen4(cpu.model) ? NearestCpu{"epyc-genoa", true} : NearestCpu{"epyc-milan", true};
  }
  if (cpu.vendor == "AuthenticAMD" && cpu.family == kZen5Family) {
    return {"epyc-turin", true};  // laptops have vectors of half the width, as their rates show
  }
  if (cpu.vendor == "AuthenticAMD" && cpu.family == kZen2Family) {
    return {"epyc-milan", false};  // vectors of the same width, and blocks of 8 channels
  }
  if (cpu.vendor == "GenuineIntel" && cpu.family == kIntelFamily &&
      cpu.model == kCascadeLakeModel) {
    return {"xeon-cascade-lake", true};
  }
  return kMostMeasured;
}

}  // namespace dfsim::inline study
