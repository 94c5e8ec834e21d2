// `sources:` and `cite:` of hardware files: which figure comes from where.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hardware/platform.h"
#include "hardware/yaml/yaml_fields.h"

namespace dfsim::inline hardware {

// Source id -> what it is, in words.
using SourceTable = std::map<std::string, std::string>;

// Reads the `sources` map of a file.
SourceTable read_sources(YamlFields& fields);

// Reads `cite` of the map behind `fields`: {default: id, KEY: id, KEY.SUBKEY: id}, where KEY is one
// of `figures` that is present in `node`. Returns one citation per present figure that has a
// source, and one per subkey that has its own.
std::vector<Citation> read_citations(YamlFields& fields, const YamlNode& node,
                                     const std::vector<std::string>& figures,
                                     const SourceTable& sources);

// Reads `source: id` of a link or the host; "" when absent.
std::string read_source(YamlFields& fields, const SourceTable& sources);

}  // namespace dfsim::inline hardware
