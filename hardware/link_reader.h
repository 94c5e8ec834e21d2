// `links:` and `switches:` of a hardware file, and the check that they connect everything.
#pragma once

#include "hardware/platform.h"
#include "hardware/sources.h"
#include "hardware/yaml/yaml_fields.h"

namespace dfsim::inline hardware {

inline constexpr size_t kMaxDevices = 4096;
inline constexpr size_t kMaxLinks = 65536;

// Fills switches and links. `platform->devices` and `platform->host` are complete. An end that
// stands for several nodes ("gpu*") makes one link for each of them. Errors go into `fields`:
// unknown ends, a link from a node to itself, duplicate names.
void read_links(YamlFields& fields, const SourceTable& sources, Platform* platform);

// Adds an error when the platform has several devices, or links, and some node has no route to the
// first device.
void check_connected(YamlFields& fields, const Platform& platform);

}  // namespace dfsim::inline hardware
