// YamlNode: a small YAML document as a tree with places, read strictly.
//
// Purpose: settings written by hand. Only the plain subset of YAML is taken: one document of maps,
//   lists and scalars, no anchors, aliases or tags, no duplicate keys, at most kMaxYamlDepth levels
//   and kMaxYamlBytes bytes. Reading any file takes O(size) memory.
// Errors: kInvalidInput, `file:line:column: found X, expected Y; do Z`, lines and columns from 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "hardware/yaml/yaml_text.h"

namespace dfsim::inline hardware {

struct YamlKey {
  std::string text;
  YamlPlace place;
};

struct YamlNode {
  enum class Kind : uint8_t { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  bool quoted = false;  // a scalar in quotes: text, even when it looks like a number
  YamlPlace place;
  std::string text;             // of a scalar
  std::vector<YamlKey> keys;    // of a map, one per item
  std::vector<YamlNode> items;  // of a map or list
};

// `file` only names the place in messages, `page` the documentation of such files.
StatusOr<YamlNode> parse_yaml(std::string_view text, const std::string& file,
                              std::string_view page = kHardwarePage);

// Names a node's kind for messages: "a map", "text 'abc'", "number 12", "nothing".
std::string describe(const YamlNode& node);

}  // namespace dfsim::inline hardware
