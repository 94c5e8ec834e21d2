// Trees that have seen one and two cores know nothing of 64: their features end at two, so they
// return the share of the peak that two cores reach. The law below asks them for the CPUs that they
// know, and extrapolates from these.
#include "opmodel/model/laws/other_cpus.h"

#include <algorithm>
#include <cmath>

namespace dfsim::inline opmodel {
namespace {

// A matrix product reaches this share of a core's printed fp32 rate: 0.79 on Genoa with one thread.
// The files of measured CPUs have this rate, those of others the printed one.
constexpr double kMeasuredOverPrinted = 0.75;
// Threads always wait for each other a little, whatever two of them show.
constexpr double kLeastSerial = 0.02;
// Two machines with equal cores: boost clocks, neighbours, memory. Each doubling of the cores adds
// what one law for all operators does not know: how a kernel divides its work, and the sockets'
// parts of the last-level cache.
constexpr double kOtherMachine = 1.3;
constexpr double kPerDoubling = 1.2;
// Kernels that were written for one width of vectors use another one less well (of ln(speed)).
constexpr double kPerSpeed = 0.5;

double core_flops_per_s(const DeviceSpec& device) {
  return device.compute_units > 0
             ? device.peak_flops_per_s(DType::kFloat32, false) / device.compute_units
             : 0;
}

}  // namespace

std::optional<OtherCpu> other_cpu(const ModelManifest& manifest, const ModelPart& part,
                                  const DeviceSpec& device) {
  const double own = core_flops_per_s(device);
  if (device.type != DeviceType::kCpu || !(own > 0) || part.find_device(device.model) != nullptr) {
    return std::nullopt;
  }
  const DeviceSpec* few = nullptr;
  const DeviceSpec* many = nullptr;
  double known = 0;  // the fastest core: one that shares its power with none
  for (const PartDevice& trained : part.devices) {
    const DeviceSpec* const spec = manifest.find_device(trained.model);
    if (spec == nullptr || !(core_flops_per_s(*spec) > 0)) {
      continue;
    }
    known = std::max(known, core_flops_per_s(*spec));
    few = few == nullptr || spec->compute_units < few->compute_units ? spec : few;
    many = many == nullptr || spec->compute_units > many->compute_units ? spec : many;
  }
  if (few == nullptr) {
    return std::nullopt;
  }
  OtherCpu cpu{*few, *many, device.compute_units, own / (known / kMeasuredOverPrinted), 1};
  // Manifests do not say what their devices are.
  cpu.few.type = DeviceType::kCpu;
  cpu.many.type = DeviceType::kCpu;
  const double doublings =
      std::max(std::log2(static_cast<double>(cpu.cores) / cpu.many.compute_units), 0.0);
  cpu.spread = kOtherMachine * std::pow(kPerDoubling, doublings) *
               std::exp(kPerSpeed * std::abs(std::log(cpu.speed)));
  return cpu;
}

OtherCpuTime other_cpu_time(const OtherCpu& cpu, double few_us, double many_us) {
  const double gain = static_cast<double>(cpu.many.compute_units) / cpu.few.compute_units;
  // many / few = serial + (1 - serial) / gain. Without a second CPU, nothing is known to be serial.
  const double serial =
      gain > 1 ? std::clamp((many_us / few_us * gain - 1) / (gain - 1), kLeastSerial, 1.0)
               : kLeastSerial;
  const double cores = static_cast<double>(cpu.cores) / cpu.few.compute_units;
  OtherCpuTime time;
  time.time_us = few_us * (serial + (1 - serial) / cores) / cpu.speed;
  time.least_us = std::min(few_us / std::max(cores, 1.0) / cpu.speed / kOtherMachine, time.time_us);
  return time;
}

}  // namespace dfsim::inline opmodel
