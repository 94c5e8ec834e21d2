// A look over the bytes of a YAML file before a parser sees them.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline hardware {

// Refuses, with `file:line:column` and in O(size): more than kMaxYamlBytes, nothing but blanks and
// comments, bytes that are no UTF-8 text, tabs that indent, and brackets or list dashes nested
// deeper than kMaxYamlDepth (parsers recurse, and some take quadratic time, on those).
Status check_yaml_text(std::string_view text, const std::string& file);

}  // namespace dfsim::inline hardware
