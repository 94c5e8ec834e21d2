// Sorts samples into parts. Kinds with too few shapes share the part of their class; tables that
// step through every size are thinned by hash, so that the same shapes stay whatever the order
// of files.
#include "opmodel/train/part_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "opmodel/features/features.h"

namespace dfsim::inline opmodel {

namespace {

// Fewer distinct shapes than this share the part of their class.
constexpr size_t kMinShapesForKind = 120;
// The part of any kind learns from at most this many shapes.
constexpr size_t kMaxShapesAnyKind = 20'000;
constexpr size_t kMaxClosedKinds = 3;
// A kind learns from about this many shapes: tables that step through every size by few per cent
// cost minutes and say little more. Measured times of all shapes still answer for themselves.
constexpr size_t kMaxShapesOfKind = 35'000;

size_t distinct_shapes(const TrainingData& data, const std::vector<uint32_t>& samples) {
  std::set<std::pair<uint64_t, uint32_t>> shapes;
  for (const uint32_t i : samples) {
    shapes.emplace(data.geometries[data.samples[i].op].key, data.samples[i].device);
  }
  return shapes.size();
}

// Every n-th shape by hash, so that about `limit` stay, the same ones whatever the order of rows.
void thin_out(const TrainingData& data, size_t shapes, size_t limit,
              std::vector<uint32_t>* samples) {
  const size_t every = shapes / limit + 1;
  if (every > 1) {
    std::erase_if(*samples, [&](uint32_t i) {
      return Hasher().add(data.geometries[data.samples[i].op].key).digest() % every != 0;
    });
  }
}

bool only_cpus(const TrainingData& data) {
  return std::all_of(data.devices.begin(), data.devices.end(),
                     [](const DeviceSpec& device) { return device.type == DeviceType::kCpu; });
}

}  // namespace

PartKey part_key(const ModelPart& part) {
  return {static_cast<int>(part.op_class), part.kind, static_cast<int>(part.family),
          static_cast<int>(part.timing)};
}

std::string part_file_name(const ModelPart& part) {
  std::string name = fmt::format("{}-{}-{}-{}", op_class_name(part.op_class),
                                 part.kind == kAnyKind ? "any" : part.kind,
                                 family_name(part.family), timing_kind_name(part.timing));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    c = plain ? c : '_';
  }
  // Two kinds may differ only in characters that are not plain.
  return fmt::format("{}-{:04x}.ubj", name, Hasher().add(part.kind).digest() & 0xFFFF);
}

std::vector<ChosenPart> choose_parts(const TrainingData& data, const std::set<PartKey>& known) {
  // By class, family and timing, then by kind.
  std::map<std::tuple<int, int, int>, std::map<std::string, std::vector<uint32_t>>> groups;
  for (uint32_t i = 0; i < data.samples.size(); ++i) {
    const Sample& sample = data.samples[i];
    const OpClass op_class = data.ops[sample.op].op_class;
    const OpGeometry& geometry = data.geometries[sample.op];
    groups[{static_cast<int>(op_class), static_cast<int>(geometry.family),
            static_cast<int>(sample.timing)}][geometry.kind]
        .push_back(i);
  }
  std::vector<ChosenPart> parts;
  for (auto& [group, kinds] : groups) {
    ChosenPart rest;
    rest.part.op_class = static_cast<OpClass>(std::get<0>(group));
    rest.part.family = static_cast<Family>(std::get<1>(group));
    rest.part.features = feature_names(rest.part.family,
                                       only_cpus(data) ? FeatureSet::kOfCpus : FeatureSet::kOfGpus);
    rest.part.timing = static_cast<TimingKind>(std::get<2>(group));
    rest.part.kind = std::string(kAnyKind);
    // Where kinds are many, more will come that no row has shown.
    bool needs_rest = kinds.size() > kMaxClosedKinds;
    for (auto& [kind, samples] : kinds) {
      rest.samples.insert(rest.samples.end(), samples.begin(), samples.end());
      ChosenPart chosen;
      chosen.part = rest.part;
      chosen.part.kind = kind;
      chosen.shapes = distinct_shapes(data, samples);
      if (chosen.shapes < kMinShapesForKind && !known.contains(part_key(chosen.part))) {
        needs_rest = true;
        continue;
      }
      chosen.samples = std::move(samples);
      thin_out(data, chosen.shapes, kMaxShapesOfKind, &chosen.samples);
      parts.push_back(std::move(chosen));
    }
    if (needs_rest) {
      thin_out(data, distinct_shapes(data, rest.samples), kMaxShapesAnyKind, &rest.samples);
      rest.shapes = distinct_shapes(data, rest.samples);
      parts.push_back(std::move(rest));
    }
  }
  return parts;
}

}  // namespace dfsim::inline opmodel
