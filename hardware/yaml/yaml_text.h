// The text of a YAML file: places in it, its limits, and a look over its bytes before a parser sees
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline hardware {

inline constexpr int64_t kMaxYamlBytes = 1 << 20;
inline constexpr int kMaxYamlDepth = 32;

struct YamlPlace {
  int line = 1;
  int column = 1;
};

// `file:line:column: message`.
Status yaml_error(const std::string& file, YamlPlace place, std::string_view message);

// Refuses, with `file:line:column` and in O(size): more than kMaxYamlBytes, nothing but blanks and
// comments, bytes that are no UTF-8 text, tabs that indent, and brackets or list dashes nested
// deeper than kMaxYamlDepth (parsers recurse, and some take quadratic time, on those).
Status check_yaml_text(std::string_view text, const std::string& file);

}  // namespace dfsim::inline hardware
