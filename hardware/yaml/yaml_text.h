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

// The documentation of hardware files.
inline constexpr std::string_view kHardwarePage = "docs/reference/hardware.md";

// `file:line:column: message`.
Status yaml_error(const std::string& file, YamlPlace place, std::string_view message);

// Refuses, with `file:line:column` and in O(size): more than kMaxYamlBytes, nothing but blanks and
// comments, bytes that are not UTF-8 text, tabs that indent, and brackets or list dashes nested
// deeper than kMaxYamlDepth (parsers recurse, and some take quadratic time, on those).
// `page` is the documentation of such files.
Status check_yaml_text(std::string_view text, const std::string& file,
                       std::string_view page = kHardwarePage);

}  // namespace dfsim::inline hardware
