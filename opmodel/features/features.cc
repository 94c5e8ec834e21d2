// The frame around the families' own features: rates of the device, both arms of the roofline,
// and the order of columns. The same functions run in training and prediction, so that both fill
// the same columns.
#include "opmodel/features/features.h"

#include <array>

#include "opmodel/features/feature_family.h"

namespace dfsim::inline opmodel {

namespace {

void write_features(const FeatureInput& input, FeatureWriter& writer) {
  const FeatureFamily& family = feature_family(input.geometry.family);
  family.features(input, writer);
  add_roofline_features(input.geometry, input.facts, input.roofline, writer);
  add_device_features(input.geometry, input.facts, input.roofline, writer);
  if (family.walk_features != nullptr) {
    family.walk_features(input.op, writer);
  }
  if (family.cache_features != nullptr) {
    family.cache_features(input, writer);
  }
}

void write_own_features(const FeatureInput& input, FeatureSet set, FeatureWriter& writer) {
  const FeatureFamily& family = feature_family(input.geometry.family);
  const auto own = set == FeatureSet::kOfCpus ? family.cpu_features : family.gpu_features;
  if (own != nullptr) {
    own(input, writer);
  }
}

std::vector<std::string> feature_names_of(Family family, FeatureSet set) {
  std::vector<std::string> names;
  FeatureWriter writer({}, &names);
  OpGeometry geometry;
  geometry.family = family;
  const OpDescriptor op;
  const DeviceFacts facts;
  const Roofline roofline;
  const FeatureInput input = {op, geometry, facts, roofline};
  write_features(input, writer);
  write_own_features(input, set, writer);
  return names;
}

}  // namespace

DeviceFacts device_facts(const OpGeometry& geometry, const DeviceSpec& device) {
  const double peak = device.peak_flops_per_s(geometry.dtype, geometry.matrix);
  // For a CPU this is not a clock, but it is the same figure in training and prediction.
  const double clock_hz = device.clock_hz > 0 ? device.clock_hz : implied_clock_hz(device);
  return {.units = static_cast<double>(std::max(device.compute_units, 1)),
          .l2_bytes = static_cast<double>(std::max<Bytes>(device.l2_bytes, 1)),
          .peak_per_us = peak > 0 ? peak / kUsPerSecond : 1,
          .bandwidth_per_us =
              device.memory_bytes_per_s > 0 ? device.memory_bytes_per_s / kUsPerSecond : 1,
          .clock_per_us = std::max(clock_hz / kUsPerSecond, 1.0)};
}

void add_roofline_features(const OpGeometry& geometry, const DeviceFacts& facts,
                           const Roofline& roofline, FeatureWriter& writer) {
  writer.add_log("flops", geometry.flops);
  writer.add_log("bytes", geometry.bytes);
  writer.add_log("flops/bytes", geometry.flops / std::max(geometry.bytes, 1.0));
  writer.add_log("compute/floor", roofline.compute_us / roofline.floor_us);
  writer.add_log("memory/floor", roofline.memory_us / roofline.floor_us);
  writer.add_log("compute/memory", roofline.compute_us / std::max(roofline.memory_us, 1e-9));
  writer.add_log("base/floor", roofline.base_us() / roofline.floor_us);
  writer.add_log("bytes/l2", geometry.bytes / facts.l2_bytes);
}

void add_device_features(const OpGeometry& geometry, const DeviceFacts& facts,
                         const Roofline& roofline, FeatureWriter& writer) {
  writer.add("dtype_bits", dtype_bits(geometry.dtype));
  writer.add("weight_bits", dtype_bits(geometry.weight_dtype));
  writer.add_log("peak", facts.peak_per_us);
  writer.add_log("bandwidth", facts.bandwidth_per_us);
  writer.add_log("peak/bandwidth", facts.peak_per_us / facts.bandwidth_per_us);
  writer.add_log("l2", facts.l2_bytes);
  writer.add_log("units", facts.units);
  writer.add_log("floor", roofline.floor_us);
}

const std::vector<std::string>& feature_names(Family family, FeatureSet set) {
  static const auto kNames = [] {
    std::array<std::array<std::vector<std::string>, 2>, kFamilyCount> names;
    for (int i = 0; i < kFamilyCount; ++i) {
      for (const FeatureSet of : {FeatureSet::kOfCpus, FeatureSet::kOfGpus}) {
        names[static_cast<size_t>(i)][static_cast<size_t>(of)] =
            feature_names_of(static_cast<Family>(i), of);
      }
    }
    return names;
  }();
  return kNames[static_cast<size_t>(family)][static_cast<size_t>(set)];
}

FeatureSet feature_set_of(Family family, std::span<const std::string> names) {
  const auto& of_gpus = feature_names(family, FeatureSet::kOfGpus);
  const bool fits = names.empty() ||
                    (names.size() <= of_gpus.size() && names.back() == of_gpus[names.size() - 1]);
  return fits ? FeatureSet::kOfGpus : FeatureSet::kOfCpus;
}

void fill_features(const OpDescriptor& op, const OpGeometry& geometry, const DeviceSpec& device,
                   const Roofline& roofline, FeatureSet set, std::span<float> out) {
  FeatureWriter writer(out, nullptr);
  const DeviceFacts facts = device_facts(geometry, device);
  const FeatureInput input = {op, geometry, facts, roofline};
  write_features(input, writer);
  if (!writer.full()) {
    write_own_features(input, set, writer);
  }
  for (float& value : out) {
    value = std::isfinite(value) ? value : 0.0F;
  }
}

}  // namespace dfsim::inline opmodel
