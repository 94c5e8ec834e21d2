// Trees that have seen one and two cores know nothing of 64: their features end at two, so they
// return the share of the peak that two cores reach. The law below asks them for a CPU that they
// know, and extrapolates from there.
#include "opmodel/model/laws/other_cpus.h"

#include <algorithm>
#include <cmath>

#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {
namespace {

// Share of an operator's time that more cores do not shorten, and the time to start and join
// threads, per doubling of their number: between those that `dfsim roofline --sweep threads` fits
// to the networks of both measured CPUs (3.5 % and 4.2 us; 0.5 % and 5.2 us).
constexpr double kSerial = 0.02;
constexpr double kForkUs = 4.7;
// A matrix product reaches this share of a core's printed fp32 rate: 0.79 on Genoa with one thread.
// The files of measured CPUs have this rate, those of others the printed one.
constexpr double kMeasuredOverPrinted = 0.75;
// Two machines with equal cores: boost clocks, neighbours, memory. Each doubling of the cores adds
// what one law for all operators does not know: how a kernel divides its work, and the sockets'
// parts of the last-level cache.
constexpr double kOtherMachine = 1.4;
constexpr double kPerDoubling = 1.2;
// Kernels that were written for one width of vectors use another one less well (of ln(speed)).
constexpr double kPerSpeed = 0.5;

double core_flops_per_s(const DeviceSpec& device, DType dtype = DType::kFloat32) {
  return device.compute_units > 0 ? device.peak_flops_per_s(dtype, false) / device.compute_units
                                  : 0;
}

// The least time by the roofs of so many cores of `device`: arithmetic divides by the cores,
// traffic until they fill the memory's bandwidth.
double least_us(const OtherCpu& cpu, const Roofline& all_cores, const DeviceSpec& device,
                double cores) {
  const double compute_us = all_cores.compute_us * device.compute_units / cores;
  const double drawn = std::min(device.memory_bytes_per_s, cores * cpu.core_bytes_per_s);
  const double memory_us =
      drawn > 0 ? all_cores.memory_us * device.memory_bytes_per_s / drawn : all_cores.memory_us;
  return std::max(compute_us, memory_us);
}

// Weights of a product of few rows come from memory, which waits for no core's clock. Products of 8
// bits have instructions of their own, or none.
double one_core_speed(const OtherCpu& cpu, const OpGeometry& geometry, const Roofline& all_cores,
                      const DeviceSpec& device) {
  const double compute_us = all_cores.compute_us * device.compute_units;
  const bool waits_for_memory = compute_us < least_us(cpu, all_cores, device, 1);
  if (waits_for_memory) {
    return geometry.family == Family::kGemm ? 1 : cpu.speed;
  }
  return dtype_bits(geometry.dtype) == 8 ? cpu.speed_of_8_bits : cpu.speed;
}

}  // namespace

std::optional<OtherCpu> other_cpu(const ModelManifest& manifest, const ModelPart& part,
                                  const DeviceSpec& device) {
  const double own = core_flops_per_s(device);
  if (device.type != DeviceType::kCpu || !(own > 0) || part.find_device(device.model) != nullptr) {
    return std::nullopt;
  }
  const DeviceSpec* known = nullptr;
  double fastest = 0;  // core: one that shares its power with none
  double fastest_of_8_bits = 0;
  double drawn = 0;
  for (const PartDevice& trained : part.devices) {
    const DeviceSpec* const spec = manifest.find_device(trained.model);
    if (spec == nullptr || !(core_flops_per_s(*spec) > 0)) {
      continue;
    }
    fastest = std::max(fastest, core_flops_per_s(*spec));
    fastest_of_8_bits = std::max(fastest_of_8_bits, core_flops_per_s(*spec, DType::kInt8));
    drawn = std::max(drawn, spec->memory_bytes_per_s / spec->compute_units);
    const bool fits = spec->compute_units <= device.compute_units;
    if (known == nullptr || (fits ? spec->compute_units > known->compute_units ||
                                        known->compute_units > device.compute_units
                                  : spec->compute_units < known->compute_units)) {
      known = spec;
    }
  }
  if (known == nullptr) {
    return std::nullopt;
  }
  OtherCpu cpu{*known, drawn, own / (fastest / kMeasuredOverPrinted)};
  cpu.speed_of_8_bits =
      core_flops_per_s(device, DType::kInt8) / (fastest_of_8_bits / kMeasuredOverPrinted);
  cpu.known.type = DeviceType::kCpu;  // manifests do not say what their devices are
  const double doublings =
      std::abs(std::log2(static_cast<double>(device.compute_units) / known->compute_units));
  cpu.spread = kOtherMachine * std::pow(kPerDoubling, doublings) *
               std::exp(kPerSpeed * std::abs(std::log(cpu.speed)));
  return cpu;
}

double other_cpu_us(const OtherCpu& cpu, const OpGeometry& geometry, const DeviceSpec& device,
                    double known_us) {
  const Roofline all_cores = roofline_of(geometry, device, 0);
  const double one_us = least_us(cpu, all_cores, device, 1);
  // T(t) = T(1) (s + (1 - s) B(t) / B(1)) + f log2 t, for the known number of cores and the other.
  const auto part_of_one = [&](double cores) {
    const double ideal = one_us > 0 ? least_us(cpu, all_cores, device, cores) / one_us : 1;
    return kSerial + (1 - kSerial) * ideal;
  };
  const auto fork_us = [](double cores) { return kForkUs * std::log2(cores); };
  const double from = cpu.known.compute_units;
  const double to = device.compute_units;
  const double busy_us = std::max(known_us - fork_us(from), known_us / 2);
  const double speed = one_core_speed(cpu, geometry, all_cores, device);
  const double one_core_us = busy_us / speed / part_of_one(from);
  // The runtime runs an operator on one core if more of them would slow it down.
  return std::min(one_core_us * part_of_one(to) + std::max(fork_us(to), known_us - busy_us),
                  std::max(one_core_us, known_us / speed));
}

std::vector<PartAnswer> predict_on_device(const ModelManifest& manifest, const ModelPart& part,
                                          const Forest* trees, std::span<const PartQuery> queries,
                                          const DeviceSpec& device) {
  const std::optional<OtherCpu> cpu = other_cpu(manifest, part, device);
  if (!cpu.has_value()) {
    return predict_part(part, trees, queries, device);
  }
  std::vector<PartAnswer> answers = predict_part(part, trees, queries, cpu->known);
  const double common = std::log(cpu->spread);
  // The known CPU was measured with a profiler, whose own time no other CPU has to bear.
  const double added_us = manifest.overhead_us(cpu->known.model);
  for (size_t i = 0; i < answers.size(); ++i) {
    PartAnswer& answer = answers[i];
    answer.extrapolated = true;
    for (double* time_us : {&answer.low_us, &answer.time_us, &answer.high_us}) {
      *time_us = without_overhead_us(*time_us, added_us);
    }
    if (!(answer.low_us > 0)) {
      continue;  // nothing to do takes no time on any CPU
    }
    const double below = std::hypot(std::log(answer.time_us / answer.low_us), common);
    const double above = std::hypot(std::log(answer.high_us / answer.time_us), common);
    answer.time_us = other_cpu_us(*cpu, *queries[i].geometry, device, answer.time_us);
    answer.low_us = answer.time_us * std::exp(-below);
    answer.high_us = answer.time_us * std::exp(above);
  }
  return answers;
}

double other_cpu_spread(const ModelManifest& manifest, const DeviceSpec& device) {
  for (const ModelPart& part : manifest.parts) {
    if (const auto cpu = other_cpu(manifest, part, device); cpu.has_value()) {
      return cpu->spread;
    }
  }
  return 1;
}

}  // namespace dfsim::inline opmodel
