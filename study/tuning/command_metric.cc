// std::regex recurses per character, so it sees a line at a time, and no line that is longer than
// any summary.
#include "study/tuning/command_metric.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <regex>
#include <string_view>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

constexpr size_t kLongestLine = 4000;

}  // namespace

struct CommandMetric::Pattern {
  std::regex regex;
};

StatusOr<CommandMetric> CommandMetric::make(const std::string& pattern, bool is_rate) {
  CommandMetric metric;
  metric.text_ = printable(pattern);
  metric.is_rate_ = is_rate;
  if (pattern.empty()) {
    return metric;
  }
  try {
    metric.pattern_ = std::make_shared<const Pattern>(Pattern{std::regex(pattern)});
  } catch (const std::regex_error& error) {
    return invalid_input(fmt::format("'{}': is not a regular expression: {}", metric.text_,
                                     printable(error.what())));
  }
  if (metric.pattern_->regex.mark_count() != 1) {
    return invalid_input(fmt::format(
        "'{}': found {} groups, expected one around the number, as in 'latency: ([0-9.]+)'",
        metric.text_, metric.pattern_->regex.mark_count()));
  }
  return metric;
}

StatusOr<double> CommandMetric::number_in(const std::string& output) const {
  std::string found;
  bool any = false;
  for (size_t begin = 0; begin < output.size();) {
    const size_t end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, std::min(end - begin, kLongestLine));
    begin = end + 1;
    try {
      if (std::smatch match; std::regex_search(line, match, pattern_->regex)) {
        found = match[1].str();
        any = true;
      }
    } catch (const std::regex_error& error) {
      return invalid_input(fmt::format("'{}': is too complex for a line of the output: {}", text_,
                                       printable(error.what())));
    }
  }
  if (!any) {
    return invalid_input(fmt::format("'{}': matches no line of the command's output", text_));
  }
  double number = 0;
  const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), number);
  if (error != std::errc() || end != found.data() + found.size() || !std::isfinite(number) ||
      number <= 0) {
    return invalid_input(
        fmt::format("'{}': found '{}' in the command's output, expected a number "
                    "above 0",
                    text_, printable(found)));
  }
  return number;
}

StatusOr<double> CommandMetric::cost(const CommandRun& run, double samples) const {
  const auto copies = static_cast<double>(run.outputs.size());
  if (pattern_ == nullptr) {
    return run.wall_s / (samples * copies);
  }
  double sum = 0;
  for (const std::string& output : run.outputs) {
    DFSIM_ASSIGN_OR_RETURN(const double number, number_in(output));
    sum += number;
  }
  return is_rate_ ? 1 / sum : sum / copies / (samples * copies);
}

}  // namespace dfsim::inline study
