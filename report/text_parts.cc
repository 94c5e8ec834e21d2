// The formats themselves: one place for each, so that two views of a figure look alike.
#include "report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dfsim::inline report {

std::string percent_text(double fraction) {
  const double value = fraction * 100;
  return value > 0 && value < 0.05 ? "<0.1 %" : fmt::format("{:.1f} %", value);
}

std::string percent_number(double fraction) { return fmt::format("{:.2f}", fraction * 100); }

std::string duration_text(double time_us) {
  return format_time(ns_from_seconds(std::max(time_us, 0.0) / 1e6));
}

std::string unknown_work_text(const UnknownWork& unknown) {
  if (unknown.ops == 0 && unknown.uncounted_loops == 0) {
    return fmt::format(
        "of {} only the bound on the arithmetic and traffic is known, as of '{}': {}{}",
        counted(unknown.whole_loops, "loop"), printable(unknown.first.name, 60),
        unknown.first.reason,
        unknown.assumes_most
            ? "; extents that depend on data count as the largest possible, so no limit is sure"
            : "");
  }
  if (unknown.ops == 0) {
    return fmt::format("the work of {} is known for one trip only, as that of '{}': {}",
                       counted(unknown.uncounted_loops, "loop"), printable(unknown.first.name, 60),
                       unknown.first.reason);
  }
  return fmt::format("the work of {} of {} is not known, because of {} '{}': {}", unknown.ops,
                     counted(unknown.of, "operator"), printable(unknown.first.op_type, 40),
                     printable(unknown.first.name, 60), unknown.first.reason);
}

std::string incomplete_line(const UnknownWork& unknown) {
  return unknown.complete() ? "" : fmt::format("INCOMPLETE: {}\n", unknown_work_text(unknown));
}

std::string_view least_prefix(const UnknownWork& unknown, double bound_only_share) {
  return !unknown.complete() ? "at least " : bound_only_share > kMuchBoundOnly ? "≥ " : "";
}

std::string_view most_prefix(const UnknownWork& unknown, double bound_only_share) {
  return !unknown.complete() ? "at most " : bound_only_share > kMuchBoundOnly ? "≤ " : "";
}

double in_ms(TimeNs time_ns) { return static_cast<double>(time_ns) / kNsPerMs; }

double in_us(TimeNs time_ns) { return static_cast<double>(time_ns) / kNsPerUs; }

double ms_from_us(double time_us) { return time_us / 1000; }

}  // namespace dfsim::inline report
