// Well-formed UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace dfsim::inline base {

// Length of the well-formed UTF-8 sequence at the front of `text`, which is not empty, or 0.
size_t utf8_sequence_length(std::string_view text);

// O(|text|).
bool is_utf8(std::string_view text);

}  // namespace dfsim::inline base
