// Reading numbers from cells of other people's files.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace dfsim::inline datasets {

inline constexpr std::string_view kBlanks = " \t\r\n";

// `text` without blanks at its ends.
inline std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The whole of `text` (blanks at its ends apart) as a number; none when it is not one.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  text = trim(text);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace dfsim::inline datasets
