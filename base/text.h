// Small text helpers shared by everything that talks to people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dfsim::inline base {

// The entry of `names` nearest to `name` by edit distance (case ignored), or "" when none is near
// enough to be meant (distance over 1/3 of the longer length, at least 2). O(|names| * |name|^2).
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);

// One line for an unknown name: `unknown policy 'hefd'; did you mean 'heft'? Valid: cpop, heft`.
// `kind` says what the name is of. Lists at most 40 names, then how many more there are.
std::string unknown_name_message(std::string_view kind, std::string_view name,
                                 std::vector<std::string> names);

// Joins with `separator`.
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// Makes text from a file safe and short enough for one line of a message: control characters and
// invalid UTF-8 become '?', and over `max_chars` bytes the middle is cut out ("abc...xyz").
std::string printable(std::string_view text, size_t max_chars = 80);

// Splits at every `separator`; "" gives {""}.
std::vector<std::string> split(std::string_view text, char separator);

// A field of a CSV file, quoted as RFC 4180 asks when a separator, quote or line break is inside.
std::string csv_field(const std::string& text);

std::string to_lower(std::string_view text);

}  // namespace dfsim::inline base
