// Patterns of names: '*' stands for any text, '?' for one character.
#pragma once

#include <string_view>

namespace dfsim::inline base {

// Whether the whole name fits. O(name * pattern) at worst.
bool matches_pattern(std::string_view name, std::string_view pattern);

}  // namespace dfsim::inline base
