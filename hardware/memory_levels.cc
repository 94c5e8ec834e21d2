// Reads caches and roofs, which only rooflines need, from a hardware file a second time. Costs
// and simulations know the memory alone, so these figures stay out of Platform.
#include "hardware/memory_levels.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "hardware/builtin_files.h"
#include "hardware/sources.h"
#include "hardware/yaml/yaml_units.h"

namespace dfsim::inline hardware {
namespace {

constexpr size_t kMaxLevels = 8;
constexpr double kMostNodes = 64;

struct Entry {
  std::string model;
  std::vector<MemoryLevel> levels;
  Roofs roofs;
  NumaNodes numa;
};

const YamlNode* child(const YamlNode& map, std::string_view key) {
  for (size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i].text == key) {
      return &map.items[i];
    }
  }
  return nullptr;
}

std::string text_of(const YamlNode& map, std::string_view key) {
  const YamlNode* const node = child(map, key);
  return node == nullptr ? std::string() : node->text;
}

StatusOr<std::vector<Entry>> entries_of(const std::string& name, const std::string& folder);

// An entry of `devices:`, on top of the one that it names.
StatusOr<Entry> entry_of(const YamlNode& node, const SourceTable& sources,
                         const std::string& file) {
  Entry entry;
  const std::string base = text_of(node, "device");
  if (!base.empty()) {
    DFSIM_ASSIGN_OR_RETURN(std::vector<Entry> bases,
                           entries_of(base, std::filesystem::path(file).parent_path().string()));
    if (!bases.empty()) {
      entry = std::move(bases.front());
    }
  }
  const std::string model = text_of(node, "model");
  entry.model = model.empty() ? entry.model : model;
  YamlFields fields(node, file, "a device");
  const YamlNode* const cite = child(node, "cite");
  const auto source_of = [&](const std::string& figure) {
    std::string id = cite == nullptr ? "" : text_of(*cite, figure);
    id = id.empty() && cite != nullptr ? text_of(*cite, "default") : id;
    const auto source = sources.find(id);
    return source == sources.end() ? std::string() : source->second;
  };
  if (child(node, "cache_levels") != nullptr) {
    entry.levels = read_memory_levels(fields);
    for (MemoryLevel& level : entry.levels) {
      level.source = source_of("cache_levels");
    }
  }
  if (child(node, "roofs") != nullptr) {
    entry.roofs = read_roofs(fields);
    entry.roofs.source = source_of("roofs");
  }
  if (child(node, "numa") != nullptr) {
    entry.numa = read_numa_nodes(fields);
    entry.numa.source = source_of("numa");
  }
  return entry;
}

StatusOr<std::vector<Entry>> entries_of(const std::string& name, const std::string& folder) {
  DFSIM_ASSIGN_OR_RETURN(const FoundFile found,
                         find_settings_file(FileKind::kPlatform, name, folder));
  DFSIM_ASSIGN_OR_RETURN(const YamlNode root, parse_yaml(found.text, found.path));
  YamlFields fields(root, found.path, "a hardware file");
  const SourceTable sources = read_sources(fields);
  std::vector<Entry> entries;
  const YamlNode* const devices = child(root, "devices");
  for (size_t i = 0; devices != nullptr && i < devices->items.size(); ++i) {
    DFSIM_ASSIGN_OR_RETURN(Entry entry, entry_of(devices->items[i], sources, found.path));
    entries.push_back(std::move(entry));
  }
  return entries;
}

StatusOr<Entry> entry_of_model(const std::string& name_or_path, const std::string& device_model) {
  DFSIM_ASSIGN_OR_RETURN(std::vector<Entry> entries, entries_of(name_or_path, ""));
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.model == device_model; });
  return found == entries.end() ? Entry{} : std::move(*found);
}

}  // namespace

std::vector<MemoryLevel> read_memory_levels(YamlFields& fields) {
  std::vector<MemoryLevel> levels;
  const YamlNode* const list = fields.list("cache_levels");
  if (list == nullptr) {
    return levels;
  }
  if (list->items.size() > kMaxLevels) {
    fields.error("cache_levels", "found more than 8 levels of caches, expected at most 8");
    return levels;
  }
  for (const YamlNode& node : list->items) {
    YamlFields level_fields(node, fields.file(), "a cache level");
    MemoryLevel level;
    double value = 0;
    level_fields.text("name", &level.name, Need::kRequired);
    if (level_fields.number("bandwidth_gb_per_s", kBandwidthRange, &value, Need::kRequired)) {
      level.bytes_per_s = value * kGiga;
    }
    if (level_fields.number("mib", {1e-6, 1e6, "MiB"}, &value, Need::kRequired)) {
      level.bytes = static_cast<Bytes>(std::llround(value * kMebi));
    }
    const Status status = level_fields.finish();
    if (!status.ok()) {
      fields.error(status);
      return {};
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

StatusOr<std::vector<MemoryLevel>> load_memory_levels(const std::string& name_or_path,
                                                      const std::string& device_model) {
  DFSIM_ASSIGN_OR_RETURN(Entry entry, entry_of_model(name_or_path, device_model));
  return std::move(entry.levels);
}

Roofs read_roofs(YamlFields& fields) {
  Roofs roofs;
  const YamlNode* const map = fields.map("roofs");
  if (map == nullptr) {
    return roofs;
  }
  YamlFields rates(*map, fields.file(), "roofs");
  double value = 0;
  if (rates.number("memory_bandwidth_gb_per_s", kBandwidthRange, &value)) {
    roofs.memory_bytes_per_s = value * kGiga;
  }
  if (const YamlNode* const vector = rates.map("vector_tflops"); vector != nullptr) {
    YamlFields peaks(*vector, fields.file(), "vector_tflops");
    for (const char* const name : {"fp64", "fp32", "fp16", "bf16", "int8"}) {
      if (peaks.number(name, {1e-6, 1e7, "TFLOP/s"}, &value)) {
        roofs.peaks.push_back({.dtype = dtype_from_name(name), .flops_per_s = value * kTera});
      }
    }
    fields.error(peaks.finish());
  }
  fields.error(rates.finish());
  return roofs;
}

StatusOr<Roofs> load_roofs(const std::string& name_or_path, const std::string& device_model) {
  DFSIM_ASSIGN_OR_RETURN(Entry entry, entry_of_model(name_or_path, device_model));
  return std::move(entry.roofs);
}

NumaNodes read_numa_nodes(YamlFields& fields) {
  NumaNodes numa;
  const YamlNode* const map = fields.map("numa");
  if (map == nullptr) {
    return numa;
  }
  YamlFields inner(*map, fields.file(), "numa");
  double value = 0;
  inner.integer("nodes", {2, kMostNodes}, &numa.nodes, Need::kRequired);
  if (inner.number("link_gb_per_s", kBandwidthRange, &value, Need::kRequired)) {
    numa.link_bytes_per_s = value * kGiga;
  }
  fields.error(inner.finish());
  return numa;
}

StatusOr<NumaNodes> load_numa_nodes(const std::string& name_or_path,
                                    const std::string& device_model) {
  DFSIM_ASSIGN_OR_RETURN(Entry entry, entry_of_model(name_or_path, device_model));
  return std::move(entry.numa);
}

DeviceSpec with_roofs(DeviceSpec device, const Roofs& roofs) {
  for (const PeakRate& roof : roofs.peaks) {
    const auto peak =
        std::find_if(device.peaks.begin(), device.peaks.end(),
                     [&roof](const PeakRate& rate) { return rate.dtype == roof.dtype; });
    if (peak == device.peaks.end()) {
      device.peaks.push_back(roof);
    } else {
      peak->flops_per_s = std::max(peak->flops_per_s, roof.flops_per_s);
    }
  }
  device.memory_bytes_per_s = std::max(device.memory_bytes_per_s, roofs.memory_bytes_per_s);
  return device;
}

}  // namespace dfsim::inline hardware
