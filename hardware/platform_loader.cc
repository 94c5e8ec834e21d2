// Puts a Platform together from the readers of devices, host, links, runtime and collectives. A
// device may come from another hardware file; that file may not refer to a third one, which
// rules out circles.
#include "hardware/platform_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_set>

#include "base/text.h"
#include "hardware/builtin_files.h"
#include "hardware/collectives_reader.h"
#include "hardware/device_reader.h"
#include "hardware/link_reader.h"
#include "hardware/sources.h"
#include "hardware/yaml/yaml_fields.h"
#include "hardware/yaml/yaml_tree.h"
#include "hardware/yaml/yaml_units.h"

namespace dfsim::inline hardware {
namespace {

// Whether `device: other-file` is allowed; not inside a file that was itself named so, which also
// rules out circles.
enum class Includes { kAllowed, kRefused };

StatusOr<Platform> parse(std::string_view text, const std::string& file, Includes includes);

class DevicesReader {
 public:
  DevicesReader(YamlFields& list, const SourceTable& sources, Includes includes,
                std::vector<DeviceSpec>* devices)
      : list_(list), sources_(sources), includes_(includes), devices_(devices) {}

  void read(const YamlNode& node) {
    YamlFields fields(node, list_.file(), "a device");
    DeviceSpec device;
    std::string base;
    const bool extends = fields.text("device", &base);
    if (extends) {
      include(fields, base, &device);
    }
    device.name = "";
    read_name(fields, "name", &device.name, Need::kRequired);
    int count = 0;
    fields.integer("count", {1, static_cast<double>(kMaxDevices), "devices"}, &count);
    read_device(fields, node, sources_, extends, &device);
    if (fields.finish().ok()) {
      add(fields, device, count);
    }
    list_.error(fields.finish());
  }

 private:
  void include(YamlFields& fields, const std::string& base, DeviceSpec* device) {
    if (includes_ == Includes::kRefused) {
      fields.error("device",
                   "found 'device' in a file that is itself named as a device, expected "
                   "the figures; write them out");
      return;
    }
    auto it = loaded_.find(base);
    if (it == loaded_.end()) {
      const StatusOr<DeviceSpec> found = load_base(base);
      if (!found.ok()) {
        // The place where it is named, then what is wrong with it.
        fields.error("device", found.status().message());
        return;
      }
      it = loaded_.emplace(base, *found).first;
    }
    *device = it->second;
  }
  StatusOr<DeviceSpec> load_base(const std::string& base) const {
    const std::string folder = std::filesystem::path(list_.file()).parent_path().string();
    DFSIM_ASSIGN_OR_RETURN(const FoundFile found,
                           find_settings_file(FileKind::kPlatform, base, folder));
    DFSIM_ASSIGN_OR_RETURN(const Platform platform,
                           parse(found.text, found.path, Includes::kRefused));
    if (platform.devices.size() != 1) {
      return invalid_input(
          fmt::format("found {} devices in {}, expected one to build on; name a "
                      "file of one device",
                      platform.devices.size(), found.path));
    }
    return platform.devices[0];
  }
  void add(YamlFields& fields, const DeviceSpec& device, int count) {
    if (devices_->size() + static_cast<size_t>(count) > kMaxDevices) {
      fields.error("count", fmt::format("found more than {} devices, expected at most that; give "
                                        "a smaller platform",
                                        kMaxDevices));
      return;
    }
    for (int i = 0; i < std::max(count, 1); ++i) {
      DeviceSpec one = device;
      one.name += count == 0 ? "" : std::to_string(i);
      if (one.name == "host" || !names_.insert(one.name).second) {
        fields.error("name", fmt::format("found a second node '{}', expected each name once "
                                         "('host' is taken); rename one",
                                         one.name));
        return;
      }
      devices_->push_back(std::move(one));
    }
  }

  YamlFields& list_;
  const SourceTable& sources_;
  Includes includes_;
  std::vector<DeviceSpec>* devices_;
  std::unordered_set<std::string> names_;
  std::map<std::string, DeviceSpec> loaded_;
};

void read_devices(YamlFields& fields, const SourceTable& sources, Includes includes,
                  Platform* platform) {
  const YamlNode* devices = fields.list("devices", Need::kRequired);
  if (devices == nullptr) {
    return;
  }
  if (devices->items.empty()) {
    fields.error("devices",
                 "found no device, expected at least one; add one, see docs/reference/hardware.md");
  }
  DevicesReader reader(fields, sources, includes, &platform->devices);
  for (const YamlNode& device : devices->items) {
    reader.read(device);
    if (fields.failed()) {
      return;
    }
  }
}

// The first CPU device's memory is the host's, unless the file says otherwise.
void read_host(YamlFields& fields, const SourceTable& sources, Platform* platform) {
  const auto cpu =
      std::find_if(platform->devices.begin(), platform->devices.end(),
                   [](const DeviceSpec& device) { return device.type == DeviceType::kCpu; });
  if (cpu != platform->devices.end()) {
    platform->host.node = cpu->name;
    platform->host.memory_bytes = cpu->memory_bytes;
  }
  const YamlNode* map = fields.map("host");
  if (map == nullptr) {
    return;
  }
  YamlFields host(*map, fields.file(), "the host");
  if (host.text("node", &platform->host.node)) {
    std::vector<std::string> names = {"host"};
    for (const DeviceSpec& device : platform->devices) {
      if (device.type == DeviceType::kCpu) {
        names.push_back(device.name);
      }
    }
    if (std::find(names.begin(), names.end(), platform->host.node) == names.end()) {
      host.error("node",
                 unknown_name_message("node for the host's memory", platform->host.node, names));
    }
  }
  double memory_gib = 0;
  if (host.number("memory_gib", kMemoryRange, &memory_gib)) {
    platform->host.memory_bytes = static_cast<Bytes>(std::llround(memory_gib * kGibi));
  }
  host.number("dispatch_speed", {0.01, 100, ""}, &platform->host.dispatch_speed);
  platform->host.source = read_source(host, sources);
  fields.error(host.finish());
}

void read_runtime(YamlFields& fields, Platform* platform) {
  std::string name;
  if (!fields.text("runtime", &name)) {
    name = platform->devices.empty() ? "none" : default_runtime(platform->devices[0].type);
  }
  if (fields.failed()) {
    return;
  }
  const std::string folder = std::filesystem::path(fields.file()).parent_path().string();
  const StatusOr<FoundFile> found = find_settings_file(FileKind::kRuntime, name, folder);
  if (!found.ok()) {
    fields.error("runtime", found.status().message());
    return;
  }
  StatusOr<RuntimeSpec> runtime = parse_runtime(found->text, found->path);
  if (!runtime.ok()) {
    fields.error("runtime", runtime.status().message());
    return;
  }
  platform->runtime = std::move(runtime).value();
}

StatusOr<Platform> parse(std::string_view text, const std::string& file, Includes includes) {
  DFSIM_ASSIGN_OR_RETURN(const YamlNode node, parse_yaml(text, file));
  YamlFields fields(node, file, "a hardware file");
  Platform platform;
  platform.source_file = file;
  read_name(fields, "name", &platform.name, Need::kRequired);
  fields.text("description", &platform.description);
  fields.texts("aliases", &platform.aliases);
  for (const std::string& alias : platform.aliases) {
    check_name(fields, "aliases", alias);
  }
  const SourceTable sources = read_sources(fields);
  read_devices(fields, sources, includes, &platform);
  read_host(fields, sources, &platform);
  read_links(fields, sources, &platform);
  read_collectives(fields, sources, &platform);
  if (!fields.failed()) {
    check_connected(fields, platform);
  }
  read_runtime(fields, &platform);
  DFSIM_RETURN_IF_ERROR(fields.finish());
  return platform;
}

}  // namespace

StatusOr<Platform> parse_platform(std::string_view text, const std::string& file) {
  return parse(text, file, Includes::kAllowed);
}

StatusOr<Platform> load_platform(const std::string& name_or_path) {
  DFSIM_ASSIGN_OR_RETURN(const FoundFile found,
                         find_settings_file(FileKind::kPlatform, name_or_path, ""));
  return parse_platform(found.text, found.path);
}

StatusOr<std::vector<std::string>> platform_files(const std::string& name_or_path) {
  DFSIM_ASSIGN_OR_RETURN(const FoundFile found,
                         find_settings_file(FileKind::kPlatform, name_or_path, ""));
  DFSIM_ASSIGN_OR_RETURN(const YamlNode root, parse_yaml(found.text, found.path));
  const std::string folder = std::filesystem::path(found.path).parent_path().string();
  std::vector<std::string> files = {found.path};
  YamlFields fields(root, found.path, "a hardware file");
  const YamlNode* devices = fields.list("devices");
  for (size_t i = 0; devices != nullptr && i < devices->items.size(); ++i) {
    YamlFields device(devices->items[i], found.path, "a device");
    if (std::string base; device.text("device", &base)) {
      DFSIM_ASSIGN_OR_RETURN(const FoundFile inner,
                             find_settings_file(FileKind::kPlatform, base, folder));
      files.push_back(inner.path);
    }
  }
  return files;
}

std::vector<std::string> builtin_platforms() { return builtin_names(FileKind::kPlatform); }

}  // namespace dfsim::inline hardware
