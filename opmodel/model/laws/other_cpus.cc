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
// The files of measured CPUs have this rate, those of others the printed one. Machines differ: what
// bare loops reach is 1.18 times the rate in the file on a Turin, 1.57 times on a Cascade Lake. So
// a file of roofs is compared with the known CPU's roofs, where its model has them.
constexpr double kMeasuredOverPrinted = 0.75;
// Two machines with equal cores: boost clocks, neighbours, memory. Each doubling of the cores adds
// what one law for all operators does not know: how a kernel divides its work, and the sockets'
// parts of the last-level cache.
constexpr double kOtherMachine = 1.4;
constexpr double kPerDoubling = 1.2;
// The same, where both files have roofs that the same loops measured, and the rates are near.
constexpr double kSameLoops = 1.08;
constexpr double kNearSpeed = 1.3;
// Readings of the memory's bandwidth scatter by 15 % from one minute to the next on one virtual
// machine, as much as machines of one kind differ: half of the difference (in ln) counts there.
constexpr double kSameKindMemory = 0.5;
// Kernels that were written for one width of vectors use another one less well (of ln(speed)).
constexpr double kPerSpeed = 0.5;

double core_flops_per_s(const DeviceSpec& device, DType dtype = DType::kFloat32) {
  return device.compute_units > 0 ? device.peak_flops_per_s(dtype, false) / device.compute_units
                                  : 0;
}

// Bytes/s that so many cores draw from a memory, until they fill its bandwidth: each as much as a
// known core, or its share of what all of them are known to draw.
double drawn(const OtherCpu& cpu, const DeviceSpec& device, double cores) {
  const double each =
      std::max(cpu.core_bytes_per_s, device.memory_bytes_per_s / device.compute_units);
  return std::min(device.memory_bytes_per_s, cores * each);
}

// Time relative to that of one core, when all but the serial share takes `ideal` of it.
double with_serial_share(double ideal) { return kSerial + (1 - kSerial) * ideal; }

// An operator's arithmetic on so many cores of `device`, relative to what it takes on the known
// CPU.
double arithmetic_factor(const OtherCpu& cpu, const OpGeometry& geometry, double cores) {
  const double speed = dtype_bits(geometry.dtype) == 8 ? cpu.speed_of_8_bits : cpu.speed;
  return with_serial_share(1 / cores) / with_serial_share(1.0 / cpu.known.compute_units) / speed;
}

// The same for its traffic. It takes what the memories' bandwidths say, but in operators other than
// products (whose weights come from memory, which waits for no core's clock) not less than what the
// cores' speed says, as much of it comes from the caches that the cores have: an Intel Cascade Lake
// with a third of Genoa's bandwidth takes three to five times as long, a slower Genoa with more
// bandwidth takes longer, too.
double traffic_factor(const OtherCpu& cpu, const OpGeometry& geometry, const DeviceSpec& device,
                      double cores) {
  const double from = cpu.known.compute_units;
  const double known = drawn(cpu, cpu.rates, from);
  const double other = drawn(cpu, device, cores);
  if (!(known > 0) || !(other > 0)) {
    return arithmetic_factor(cpu, geometry, cores);
  }
  const double by_memory = with_serial_share(cpu.core_bytes_per_s / other) /
                           with_serial_share(cpu.core_bytes_per_s / known);
  if (geometry.family == Family::kGemm) {
    return by_memory;
  }
  const double one = drawn(cpu, device, 1);
  const double by_cores = with_serial_share(one / other) /
                          with_serial_share(one / drawn(cpu, device, from)) / cpu.speed;
  return std::max(by_memory, by_cores);
}

// Rates of a known CPU to compare with, and the share of the unknown one's measure that they are.
struct Reference {
  DeviceSpec rates;
  double share = kMeasuredOverPrinted;
};

Reference reference_of(const ModelManifest& manifest, const DeviceSpec& known) {
  const DeviceSpec* const bare = manifest.find_bare_device(known.model);
  return bare != nullptr && core_flops_per_s(*bare) > 0 ? Reference{*bare, 1} : Reference{known};
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
    const Reference reference = reference_of(manifest, *spec);
    fastest = std::max(fastest, core_flops_per_s(reference.rates) / reference.share);
    fastest_of_8_bits = std::max(fastest_of_8_bits,
                                 core_flops_per_s(reference.rates, DType::kInt8) / reference.share);
    drawn = std::max(drawn, reference.rates.memory_bytes_per_s / spec->compute_units);
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
  OtherCpu cpu{*known, reference_of(manifest, *known).rates, drawn, own / fastest};
  cpu.speed_of_8_bits = core_flops_per_s(device, DType::kInt8) / fastest_of_8_bits;
  cpu.known.type = DeviceType::kCpu;  // manifests do not say what their devices are
  const double doublings =
      std::abs(std::log2(static_cast<double>(device.compute_units) / known->compute_units));
  const bool near = std::abs(std::log(cpu.speed)) < std::log(kNearSpeed) &&
                    manifest.find_bare_device(known->model) != nullptr;
  const bool same_cores = cpu.known.compute_units == device.compute_units;
  cpu.memory_bytes_per_s = device.memory_bytes_per_s;
  if (near && same_cores && cpu.rates.memory_bytes_per_s > 0) {
    cpu.memory_bytes_per_s =
        cpu.rates.memory_bytes_per_s *
        std::pow(device.memory_bytes_per_s / cpu.rates.memory_bytes_per_s, kSameKindMemory);
  }
  cpu.spread = (near ? kSameLoops : kOtherMachine) * std::pow(kPerDoubling, doublings) *
               std::exp(kPerSpeed * std::abs(std::log(cpu.speed)));
  return cpu;
}

double other_cpu_us(const OtherCpu& cpu, const OpGeometry& geometry, const DeviceSpec& device,
                    double known_us) {
  // T(t) = arithmetic(t) + traffic(t) + f log2 t, for the known number of cores and the other.
  const auto fork_us = [](double cores) { return kForkUs * std::log2(cores); };
  const double from = cpu.known.compute_units;
  const double to = device.compute_units;
  const double busy_us = std::max(known_us - fork_us(from), known_us / 2);
  const double traffic_us = std::min(busy_us, roofline_of(geometry, cpu.known, 0).memory_us);
  const auto on = [&](double cores) {
    return (busy_us - traffic_us) * arithmetic_factor(cpu, geometry, cores) +
           traffic_us * traffic_factor(cpu, geometry, device, cores);
  };
  // The runtime runs an operator on one core if more of them would slow it down.
  return std::min(on(to) + std::max(fork_us(to), known_us - busy_us),
                  std::max(on(1), known_us / cpu.speed));
}

std::vector<PartAnswer> predict_on_device(const ModelManifest& manifest, const ModelPart& part,
                                          const Forest* trees, std::span<const PartQuery> queries,
                                          const DeviceSpec& device) {
  const std::optional<OtherCpu> cpu = other_cpu(manifest, part, device);
  if (!cpu.has_value()) {
    return predict_part(part, trees, queries, device);
  }
  std::vector<PartAnswer> answers = predict_part(part, trees, queries, cpu->known);
  DeviceSpec other = device;
  other.memory_bytes_per_s = cpu->memory_bytes_per_s;
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
    answer.time_us = other_cpu_us(*cpu, *queries[i].geometry, other, answer.time_us);
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
