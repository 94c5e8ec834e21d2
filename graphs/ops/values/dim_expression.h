// Symbolic dimensions that are written as arithmetic on others: "past + seq", "2*(n - 1)".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace dfsim::inline graphs {

// The value of `text`: names and whole numbers joined by + - * and parentheses. `value_of` gives
// the value of a name. nullopt when the text has no operator, is not well-formed or over 200
// characters, names something without a value, or does not fit in 63 bits. O(|text|) calls of
// value_of.
std::optional<int64_t> evaluate_dim_expression(
    std::string_view text, const std::function<std::optional<int64_t>(std::string_view)>& value_of);

}  // namespace dfsim::inline graphs
