// The formats themselves: one place for each, so that two views of a figure look alike.
#include "report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace dfsim::inline report {

std::string percent_text(double fraction) {
  const double value = fraction * 100;
  return value > 0 && value < 0.05 ? "<0.1 %" : fmt::format("{:.1f} %", value);
}

std::string percent_number(double fraction) { return fmt::format("{:.2f}", fraction * 100); }

std::string duration_text(double time_us) {
  return format_time(ns_from_seconds(std::max(time_us, 0.0) / 1e6));
}

double in_ms(TimeNs time_ns) { return static_cast<double>(time_ns) / kNsPerMs; }

double in_us(TimeNs time_ns) { return static_cast<double>(time_ns) / kNsPerUs; }

double ms_from_us(double time_us) { return time_us / 1000; }

}  // namespace dfsim::inline report
