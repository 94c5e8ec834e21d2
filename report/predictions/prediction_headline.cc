// The answer and its reason, in words that a person can quote.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "report/predictions/prediction_parts.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

// The interval counts as symmetric while its sides differ by no more than this factor.
constexpr double kMostAskew = 1.5;
// A wider interval is shown by its ends: "1.6 ms ± 1.7" would begin below zero.
constexpr double kWidestBelow = 0.7;

// "7.0 ms ± 1.1": the time with as many digits as its interval allows; "228 us, 206 us to 417 us"
// where the interval is not symmetric.
std::string time_with_interval(const Prediction& prediction) {
  const TimeNs time_ns = prediction.latency_ns;
  const TimeNs below = time_ns - prediction.interval.low_ns;
  const TimeNs above = prediction.interval.high_ns - time_ns;
  const bool symmetric =
      below > 0 && above > 0 &&
      static_cast<double>(below) <= kWidestBelow * static_cast<double>(time_ns) &&
      static_cast<double>(std::max(below, above)) <=
          kMostAskew * static_cast<double>(std::min(below, above));
  if (!symmetric) {
    return fmt::format("{}, {} to {}", format_time(time_ns),
                       format_time(prediction.interval.low_ns),
                       format_time(prediction.interval.high_ns));
  }
  struct Unit {
    TimeNs size;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {
      {{kNsPerSecond, "s"}, {kNsPerMs, "ms"}, {kNsPerUs, "us"}, {1, "ns"}}};
  const Unit& unit = *std::ranges::find_if(
      kUnits, [&](const Unit& candidate) { return time_ns >= candidate.size; });
  const auto size = static_cast<double>(unit.size);
  const double half = static_cast<double>(below + above) / 2 / size;
  // Two digits of the interval, at most three behind the point.
  const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(half))), 0, 3);
  return fmt::format("{:.{}f} {} ± {:.{}f}", static_cast<double>(time_ns) / size, decimals,
                     unit.name, half, decimals);
}

std::string rate_text(const Prediction& prediction) {
  const std::string rate =
      fmt::format("{}{}", most_prefix(prediction.unknown, prediction.bound_only_share),
                  format_count(prediction.throughput_per_s));
  return prediction.batch == 1 ? fmt::format("{}/s", rate)
                               : fmt::format("{} samples/s at batch {}", rate, prediction.batch);
}

std::string answer_text(const Prediction& prediction) {
  const std::string_view prefix = least_prefix(prediction.unknown, prediction.bound_only_share);
  const std::string time = prefix.empty()
                               ? time_with_interval(prediction)
                               : std::string(prefix) + format_time(prediction.latency_ns);
  return fmt::format(
      "{}{}{} on {}: {} ({})", prediction.is_training ? "a training step of " : "",
      prediction.model,
      prediction.precision.empty() ? "" : " in " + printable(prediction.precision, 60),
      prediction.hardware, time, rate_text(prediction));
}

std::string busy_percent(double share) {
  return share > 0 && share < 0.005 ? "<1 %" : fmt::format("{:.0f} %", share * 100);
}

// Why the device takes its time: "conv takes 82 %, compute bounds 71 %".
std::string device_cause(const Verdict& verdict) {
  return fmt::format("{} takes {}, {} bounds {}", verdict.main_class,
                     busy_percent(verdict.class_share), verdict.main_bound,
                     busy_percent(verdict.bound_share));
}

std::string reason_text(const Prediction& prediction) {
  const Verdict& verdict = prediction.verdict;
  std::string why;
  std::string otherwise;
  switch (verdict.limit) {
    case Limit::kNothing:
      return "Nothing to run";
    case Limit::kDevice:
      why = fmt::format("The device limits (busy {})", busy_percent(verdict.device_share));
      otherwise = device_cause(verdict);
      break;
    case Limit::kHost:
      why = fmt::format("The host limits (busy {}, the device {})",
                        busy_percent(verdict.host_share), busy_percent(verdict.device_share));
      otherwise = "a larger batch uses the device better";
      break;
    case Limit::kTransfers:
      why = fmt::format("Copies between memories limit ({} of the time, the device is busy {})",
                        busy_percent(verdict.copy_share), busy_percent(verdict.device_share));
      otherwise = "keep the operators on fewer devices (--policy)";
      break;
  }
  if (!verdict.change.has_value()) {
    return why + ": " + otherwise;
  }
  const Verdict::Change& change = *verdict.change;
  const bool assumed = verdict.limit == Limit::kHost && prediction.host_is_assumed;
  return fmt::format("{}: {} would give {}{} ({}){}", why, change.name,
                     least_prefix(prediction.unknown, change.bound_only_share),
                     format_time(change.latency_ns), change.option,
                     assumed ? "; the host's speed is assumed" : "");
}

}  // namespace

PredictionHeadline prediction_headline(const Prediction& prediction) {
  return {answer_text(prediction), reason_text(prediction)};
}

}  // namespace dfsim::inline report
