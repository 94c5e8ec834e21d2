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

struct Entry {
  std::string model;
  std::vector<MemoryLevel> levels;
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
  if (child(node, "cache_levels") != nullptr) {
    YamlFields fields(node, file, "a device");
    entry.levels = read_memory_levels(fields);
    const YamlNode* const cite = child(node, "cite");
    std::string id = cite == nullptr ? "" : text_of(*cite, "cache_levels");
    id = id.empty() && cite != nullptr ? text_of(*cite, "default") : id;
    const auto source = sources.find(id);
    for (MemoryLevel& level : entry.levels) {
      level.source = source == sources.end() ? "" : source->second;
    }
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
  DFSIM_ASSIGN_OR_RETURN(std::vector<Entry> entries, entries_of(name_or_path, ""));
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.model == device_model; });
  return found == entries.end() ? std::vector<MemoryLevel>() : std::move(found->levels);
}

}  // namespace dfsim::inline hardware
