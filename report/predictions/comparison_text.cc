// A comparison as text: the answer, a row for each makespan, and the policies that tie.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/text_table.h"
#include "report/predictions/comparison_parts.h"
#include "report/predictions/comparison_views.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

// The distributions of repeated runs, by mean; "" when there were none.
std::string repeated_text(const Comparison& comparison, const TimeFormat& format) {
  if (comparison.noise.runs == 0) {
    return "";
  }
  std::vector<const PolicyOutcome*> outcomes;
  for (const PolicyOutcome& outcome : comparison.policies) {
    if (outcome.repeated.has_value()) {
      outcomes.push_back(&outcome);
    }
  }
  std::ranges::stable_sort(outcomes, {},
                           [](const PolicyOutcome* o) { return o->repeated->mean_ns; });
  const std::string unit = format.unit.empty() ? "" : " " + format.unit;
  TextTable table({{"policy"},
                   {"mean" + unit, Align::kRight},
                   {"std dev", Align::kRight},
                   {"p10", Align::kRight},
                   {"p50", Align::kRight},
                   {"p90", Align::kRight},
                   {"wins", Align::kRight}});
  const auto rounded = [&](double ns) { return format.text(static_cast<TimeNs>(ns + 0.5)); };
  for (const PolicyOutcome* outcome : outcomes) {
    const RepeatResult& runs = *outcome->repeated;
    table.add_row({outcome->name, rounded(runs.mean_ns), rounded(runs.standard_deviation_ns),
                   format.text(runs.p10_ns), format.text(runs.p50_ns), format.text(runs.p90_ns),
                   percent_text(outcome->win_share)});
  }
  const std::string noise = comparison.noise.cv > 0
                                ? fmt::format("a standard deviation of {:g} % of each task's time",
                                              100 * comparison.noise.cv)
                                : std::string("operator times drawn from their intervals");
  return fmt::format("\n{} runs, {}:\n\n", comparison.noise.runs, noise) + table.render();
}

// How much of the best run is a bare bound, when it is much.
std::string bound_only_line(const Comparison& comparison) {
  const PolicyOutcome* best = comparison.best();
  return best == nullptr || !best->is_limit()
             ? ""
             : fmt::format("{} of the time is bound-only: makespans are lower limits\n",
                           percent_text(best->bound_only_share));
}

// Policies whose makespans read the same.
struct Tie {
  std::vector<const PolicyOutcome*> policies;  // the one that plans fastest first
  TimeNs makespan_ns() const { return policies.front()->makespan_ns; }
};

// Those that gave a schedule, in the order of the comparison.
std::vector<Tie> ties_of(const Comparison& comparison, const TimeFormat& format) {
  std::vector<Tie> ties;
  for (const PolicyOutcome& outcome : comparison.policies) {
    if (!outcome.status.ok()) {
      continue;
    }
    const bool joins = !ties.empty() &&
                       format.text(ties.back().makespan_ns()) == format.text(outcome.makespan_ns) &&
                       ties.back().policies.front()->is_limit() == outcome.is_limit();
    if (!joins) {
      ties.emplace_back();
    }
    ties.back().policies.push_back(&outcome);
  }
  for (Tie& tie : ties) {
    // The best of all comes first in its row, whatever else ties with it.
    std::ranges::stable_sort(tie.policies, {}, [&](const PolicyOutcome* outcome) {
      return std::pair(outcome != comparison.best(), outcome->schedule_time_ms);
    });
  }
  return ties;
}

std::string planning_text(const PolicyOutcome& outcome) {
  return outcome.schedule_time_ms < 0
             ? "-"
             : format_time(static_cast<TimeNs>(outcome.schedule_time_ms * kNsPerMs));
}

// "20 policies tie at 16.8 ms: …; cheapest to plan: best-single-device, 60 us" for each row of
// several.
std::string ties_text(const Comparison& comparison, const TimeFormat& format) {
  std::string text;
  for (const Tie& tie : ties_of(comparison, format)) {
    if (tie.policies.size() < 2) {
      continue;
    }
    const PolicyOutcome& cheapest = **std::ranges::min_element(
        tie.policies, {}, [](const PolicyOutcome* outcome) { return outcome->schedule_time_ms; });
    std::vector<std::string> names;
    for (const PolicyOutcome* outcome : tie.policies) {
      names.push_back(outcome->name);
    }
    std::ranges::sort(names);
    text += fmt::format("{} policies tie at {}{}: {}", names.size(), format.text(tie.makespan_ns()),
                        format.unit.empty() ? "" : " " + format.unit, join(names, ", "));
    text += cheapest.schedule_time_ms < 0 ? "\n"
                                          : fmt::format("; cheapest to plan: {}, {}\n",
                                                        cheapest.name, planning_text(cheapest));
  }
  return text.empty() ? "" : '\n' + text;
}

// The answer: which policy, or that one device is as good.
std::string answer_line(const Comparison& comparison, const TimeFormat& format) {
  if (!comparison.names_best()) {
    return "";
  }
  const PolicyOutcome& best = *comparison.best();
  const auto time = [&](TimeNs time_ns, double bound_only) {
    return std::string(least_prefix(comparison.unknown, bound_only)) + format.text(time_ns) +
           (format.unit.empty() ? "" : " " + format.unit);
  };
  if (comparison.one_device_is_enough()) {
    return fmt::format("one {} is as good: {} alone takes {}, the best of {} policies {}\n",
                       comparison.single_device_is_gpu ? "GPU" : "device",
                       printable(comparison.single_device, 40),
                       time(comparison.single_device_ns, comparison.single_device_is_limit ? 1 : 0),
                       comparison.policies.size(), time(best.makespan_ns, best.bound_only_share));
  }
  std::string text =
      fmt::format("best: {}, {}", best.name, time(best.makespan_ns, best.bound_only_share));
  if (comparison.devices.size() > 1 && comparison.unknown.complete() &&
      comparison.single_device_fits && comparison.single_device_is_limit == best.is_limit()) {
    text += fmt::format(", {:.2f} times as fast as one device", best.speedup);
  }
  const PolicyOutcome& shortest = comparison.policies.front();
  if (shortest.makespan_ns < best.makespan_ns && comparison.is_over_capacity(shortest)) {
    text += fmt::format("; {} takes {} but needs more memory than there is", shortest.name,
                        time(shortest.makespan_ns, shortest.bound_only_share));
  } else if (shortest.makespan_ns < best.makespan_ns) {
    text += fmt::format("; {} saves {} more but takes {} to plan", shortest.name,
                        time(best.makespan_ns - shortest.makespan_ns, 0), planning_text(shortest));
  }
  return text + '\n';
}

// The ways to cut that --split tried; "" without it.
std::string splits_text(const Comparison& comparison, const TimeFormat& format) {
  if (comparison.splits.empty()) {
    return "";
  }
  TextTable table({{"operators in pieces", Align::kLeft, true},
                   {"rule"},
                   {"cut", Align::kRight},
                   {"tasks", Align::kRight},
                   {format.unit.empty() ? "makespan" : "makespan " + format.unit, Align::kRight},
                   {"best policy"}});
  for (const TriedSplit& split : comparison.splits) {
    table.add_row({(split.operators == 0 ? "whole" : fmt::format("up to {}", split.pieces)) +
                       (split.chosen ? " *" : ""),
                   split.rule.empty() ? "-" : split.rule, fmt::format("{}", split.operators),
                   fmt::format("{}", split.tasks),
                   split.policy.empty() ? "-" : format.text(split.makespan_ns),
                   split.policy.empty() ? "-" : split.policy});
  }
  return table.render() + '\n';
}

// The row of policies with one makespan; figures that may differ are those of the first.
std::vector<std::string> policy_row(const Comparison& comparison, const Tie& tie,
                                    const TimeFormat& format) {
  const PolicyOutcome& outcome = *tie.policies.front();
  const bool is_beside = comparison.is_limit_among_estimates(outcome);
  const bool best = comparison.names_best() && &outcome == comparison.best();
  const Bytes moved = outcome.result.bytes_moved;
  const bool complete = comparison.unknown.complete();
  const auto comparable = [&](const std::string& text) {
    return is_beside || !complete ? std::string("-") : text;
  };
  const std::string others =
      tie.policies.size() > 1 ? fmt::format(" +{}", tie.policies.size() - 1) : "";
  return {outcome.name + others + (best ? " *" : ""),
          std::string(least_prefix(comparison.unknown, outcome.bound_only_share)) +
              format.text(outcome.makespan_ns),
          comparable(fmt::format("{:.3f}", outcome.ratio_to_best)),
          fmt::format("{:.1f} %", 100 * outcome.gap_to_bound),
          comparable(fmt::format("{:.2f}", outcome.speedup)),
          complete ? fmt::format("{:.3f}", outcome.slr) : "-",
          comparable(fmt::format("{:.2f}", outcome.efficiency)),
          comparison.delays ? format.text(moved) : format_bytes(moved),
          comparison.delays ? "-" : format_bytes(peak_memory(outcome)),
          outcome.decisions_ns == 0 ? "-" : format.text(outcome.decisions_ns),
          planning_text(outcome)};
}

}  // namespace

std::string TimeFormat::text(TimeNs time_ns) const {
  if (ns_per_unit == 0) {
    return format_time(time_ns);
  }
  std::string number = fmt::format("{:.3f}", static_cast<double>(time_ns) / ns_per_unit);
  number.erase(number.find_last_not_of('0') + 1);
  return number.back() == '.' ? number.substr(0, number.size() - 1) : number;
}

StatusOr<TimeFormat> time_format(std::string_view name, bool unitless) {
  if (name == "none" || (name == "auto" && unitless)) {
    return TimeFormat{static_cast<double>(kNsPerMs), ""};
  }
  if (name == "auto") {
    return TimeFormat{};
  }
  if (name == "ms" || name == "us") {
    return TimeFormat{static_cast<double>(name == "ms" ? kNsPerMs : kNsPerUs), std::string(name)};
  }
  return invalid_input(unknown_name_message("unit", name, {"auto", "ms", "us", "none"}));
}

std::string missing_memory(const Comparison& comparison) {
  const PolicyOutcome* best = comparison.best();
  return best == nullptr || !comparison.is_over_capacity(*best)
             ? ""
             : fmt::format("no policy fits: {} needs {}", best->name, overflow(comparison, *best));
}

std::string comparison_text(const Comparison& comparison, const TimeFormat& format) {
  std::string out = incomplete_line(comparison.unknown);
  if (const std::string missing = missing_memory(comparison); !missing.empty()) {
    out += "DOES NOT FIT: " + missing + '\n';
  }
  out +=
      fmt::format("{} on {}: {}, {}\n", printable(comparison.graph), printable(comparison.hardware),
                  counted(comparison.tasks, "task"), counted(comparison.edges, "edge"));
  out += answer_line(comparison, format);
  if (!comparison.cost_model.empty()) {
    std::vector<std::string> sources;
    for (const auto& [source, tasks] : comparison.cost_sources) {
      sources.push_back(fmt::format("{} {}", tasks, source));
    }
    out += fmt::format("runtime {}; operator times: {} ({})\n", comparison.runtime,
                       comparison.cost_model, join(sources, ", "));
  }
  out += bound_only_line(comparison);
  out += fmt::format("lower bound {}, one device alone {}{}\n\n",
                     format.text(comparison.lower_bound_ns),
                     least_prefix(comparison.unknown, comparison.single_device_is_limit ? 1 : 0),
                     format.text(comparison.single_device_ns));
  out += splits_text(comparison, format);
  TextTable table({{"policy", Align::kLeft, true},
                   {format.unit.empty() ? "makespan" : "makespan " + format.unit, Align::kRight},
                   {"to best", Align::kRight},
                   {"bound", Align::kRight},
                   {"speed", Align::kRight},
                   {"SLR", Align::kRight, false, true},
                   {"effic.", Align::kRight, false, true},
                   {"moved", Align::kRight},
                   {"peak mem", Align::kRight},
                   {"decisions", Align::kRight},
                   {"planning", Align::kRight}});
  std::string errors;
  std::string overflows;
  for (const PolicyOutcome& outcome : comparison.policies) {
    if (!outcome.status.ok()) {
      errors += fmt::format("{}: {}\n", outcome.name, outcome.status.message());
      continue;
    }
    if (const std::string over = overflow(comparison, outcome); !over.empty()) {
      overflows += fmt::format("{}: {}\n", outcome.name, over);
    }
  }
  for (const Tie& tie : ties_of(comparison, format)) {
    table.add_row(policy_row(comparison, tie, format));
  }
  table.drop_empty_columns();
  out += table.render() + ties_text(comparison, format);
  out += repeated_text(comparison, format);
  if (!comparison.bound_only_devices.empty()) {
    out += fmt::format(
        "\nwithout a trained model: {}. These times are lower bounds and make the other devices "
        "look slow, so policies prefer these devices. Runs that mostly use them (≥) come last. "
        "--cost-model sol compares like with like.\n",
        printable(join(comparison.bound_only_devices, ", "), 60));
  }
  if (!overflows.empty()) {
    out += "\nmore memory than there is (--memory fail, wait or spill enforces it):\n" + overflows;
  }
  if (!errors.empty()) {
    out += "\nwithout a result:\n" + errors;
  }
  return out;
}

}  // namespace dfsim::inline report
