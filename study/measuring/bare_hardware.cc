// Writes what bare loops and the operating system say of this machine as a hardware file. Their
// typical rates stand where other files have printed ones: dfsim knows how much less the kernels of
// ONNX Runtime reach. In fp32 that is the rate of products, which neighbours on the other halves of
// the cores slow down as they do those kernels.
#include "study/measuring/bare_hardware.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "study/measuring/roof_kernels.h"

namespace dfsim::inline study {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

// As a hardware file can quote it.
std::string printable_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' '; }, ' ');
  return name.empty() ? "CPU of this machine" : name;
}

// ONNX Runtime has blocks of 16 channels where the processor has AVX-512.
bool has_avx512() {
  const std::vector<ComputeKernel> kernels = compute_kernels();
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const ComputeKernel& kernel) { return kernel.name.starts_with("avx512"); });
}

// As hardware files abbreviate them.
std::string_view short_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return "fp64";
    case DType::kFloat32:
      return "fp32";
    case DType::kFloat16:
      return "fp16";
    case DType::kBFloat16:
      return "bf16";
    default:
      return dtype_name(dtype);
  }
}

std::string today() {
  return fmt::format(
      "{:%Y-%m-%d}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

double typical(const HostRoofs& roofs, const MeasuredPeak& peak) {
  const bool as_product = peak.dtype == roofs.product.dtype && roofs.product.flops_per_s > 0;
  return as_product ? std::min(peak.typical_flops_per_s, roofs.product.typical_flops_per_s)
                    : peak.typical_flops_per_s;
}

std::string rates(const HostRoofs& roofs, bool best) {
  std::string text;
  for (const MeasuredPeak& peak : roofs.peaks) {
    text += fmt::format("{}{}: {:.4f}", text.empty() ? "" : ", ", short_name(peak.dtype),
                        (best ? peak.flops_per_s : typical(roofs, peak)) / 1e12);
  }
  return text;
}

std::string levels(const HostRoofs& roofs) {
  std::string text;
  for (size_t i = 0; i + 1 < roofs.bandwidths.size(); ++i) {
    const MeasuredBandwidth& level = roofs.bandwidths[i];
    text +=
        fmt::format("      - {{name: {}, bandwidth_gb_per_s: {:.1f}, mib: {:g}}}\n", level.level,
                    level.bytes_per_s / 1e9, static_cast<double>(level.bytes) / kMiB);
  }
  return text.empty() ? text : "    cache_levels:\n" + text;
}

}  // namespace

std::string bare_hardware(std::string_view name, const HostRoofs& roofs, const CpuIdentity& cpu,
                          std::string_view dfsim_version) {
  const std::string processor = printable_name(cpu.name);
  const NearestCpu nearest = nearest_measured_cpu(cpu);
  const MeasuredBandwidth& memory = roofs.bandwidths.back();
  const size_t caches = roofs.bandwidths.size() - 1;
  const std::string threads =
      fmt::format("{} thread{}", roofs.threads, roofs.threads == 1 ? "" : "s");
  const double gib = static_cast<double>(::sysconf(_SC_PAGE_SIZE)) *
                     static_cast<double>(::sysconf(_SC_PHYS_PAGES)) / (kMiB * 1024);
  return fmt::format(
             "name: {}\n"
             "description: \"{}, ONNX Runtime with {}, from its roofs alone\"\n"
             "runtime: {}\n\n"
             "sources:\n"
             "  bare: \"dfsim calibrate --roofs only, {}, dfsim {}: typical runs of products "
             "(fp32), of multiply-adds "
             "in "
             "registers and of streams from memory\"\n"
             "  best: \"the same: best runs\"\n"
             "  system: \"what the operating system says of the machine\"\n"
             "  estimate: \"estimate of dfsim, not measured\"\n\n",
             name, processor, threads, has_avx512() ? "ort-avx512" : "ort-cpu", today(),
             dfsim_version) +
         fmt::format(
             "devices:\n"
             "  - name: cpu0\n"
             "    model: \"{}, bare, {}\"\n"
             "    type: cpu\n"
             "    vector_tflops: {{{}}}\n"
             "    memory_gib: {:.1f}\n"
             "    memory_bandwidth_gb_per_s: {:.2f}\n"
             "    l2_mib: {:g}\n"
             "    compute_units: {}\n"
             "    launch_overhead_us: 1\n"
             "    queues: 1\n"
             "    copy_engines: 0\n"
             "    cost_model: {}  # {}\n",
             processor, threads, rates(roofs, /*best=*/false), gib,
             memory.typical_bytes_per_s / 1e9,
             caches > 0 ? static_cast<double>(roofs.bandwidths[caches - 1].bytes) / kMiB : 8.0,
             roofs.threads, nearest.model,
             nearest.same_design ? "of a machine with the same cores" : "the nearest device's") +
         levels(roofs) +
         fmt::format(
             "    roofs:\n"
             "      vector_tflops: {{{}}}\n"
             "      memory_bandwidth_gb_per_s: {:.2f}\n"
             "    cite:\n"
             "      default: system\n"
             "      vector_tflops: bare\n"
             "      memory_bandwidth_gb_per_s: bare\n"
             "{}"
             "      roofs: best\n"
             "      launch_overhead_us: estimate\n"
             "      queues: estimate\n"
             "      copy_engines: estimate\n",
             rates(roofs, /*best=*/true), memory.bytes_per_s / 1e9,
             caches > 0 ? "      cache_levels: best\n" : "      l2_mib: estimate\n");
}

}  // namespace dfsim::inline study
