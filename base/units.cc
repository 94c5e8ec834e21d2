// Formats quantities for people: three significant digits and the prefix that fits. Numbers that
// round up to the next prefix take it.
#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace dfsim::inline base {
namespace {

// Three significant digits: 1.23, 12.3, 123; from 1000 on all integer digits.
std::string three_digits(double value) {
  const double magnitude = std::abs(value);
  if (magnitude >= 99.95) {
    return fmt::format("{:.0f}", value);
  }
  return magnitude >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

template <size_t N>
std::string scaled(double value, const std::array<std::string_view, N>& units) {
  size_t unit = 0;
  while (unit + 1 < N && std::abs(value) >= 999.5) {
    value /= 1000.0;
    ++unit;
  }
  const bool whole = unit == 0 && value == std::floor(value);
  std::string text = whole ? fmt::format("{:.0f}", value) : three_digits(value);
  if (!units[unit].empty()) {
    text += ' ';
    text += units[unit];
  }
  return text;
}

}  // namespace

TimeNs ns_from_seconds(double seconds) {
  const double ns = seconds * 1e9;
  // The negated comparison also catches NaN.
  if (!(ns < 9.2e18)) {
    return std::numeric_limits<TimeNs>::max();
  }
  return ns <= 0 ? 0 : static_cast<TimeNs>(std::llround(ns));
}

std::string format_time(TimeNs time_ns) {
  return scaled(static_cast<double>(time_ns),
                std::array<std::string_view, 4>{"ns", "us", "ms", "s"});
}

std::string format_bytes(Bytes bytes) {
  return scaled(static_cast<double>(bytes),
                std::array<std::string_view, 6>{"B", "kB", "MB", "GB", "TB", "PB"});
}

std::string format_count(double count) {
  return scaled(count, std::array<std::string_view, 7>{"", "k", "M", "G", "T", "P", "E"});
}

std::string format_count(double count, std::string_view unit) {
  const std::string text = format_count(count);
  return fmt::format("{}{}{}", text, text.find(' ') == std::string::npos ? " " : "", unit);
}

}  // namespace dfsim::inline base
