// Runs a command under settings that setting_search.h proposes, then the best and the default in
// turns until the interval of their ratio is decided. Turns cancel a machine that becomes slower
// over time.
#include "study/tuning/command_tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "study/tuning/command_metric.h"

namespace dfsim::inline study {
namespace {

constexpr size_t kLeastRounds = 3;  // of the comparison
constexpr size_t kMostRounds = 8;

// Student's t, two-sided 95 %, for 1 to 15 degrees of freedom.
constexpr std::array kStudent = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31,
                                 2.26,  2.23, 2.20, 2.18, 2.16, 2.14, 2.13};

class CommandTuner {
 public:
  CommandTuner(const CommandTuneOptions& options, CommandMetric metric, const Progress& progress)
      : options_(options), metric_(std::move(metric)), progress_(progress) {}

  StatusOr<CommandTuneResult> run() {
    std::vector<Cpu> cpus = usable_cpus();
    if (options_.threads > 0 && static_cast<size_t>(options_.threads) < cpus.size()) {
      cpus.resize(static_cast<size_t>(options_.threads));
    }
    DFSIM_ASSIGN_OR_RETURN(result_.space,
                           command_space(options_.command, options_.vary, std::move(cpus)));
    name_unit();
    DFSIM_RETURN_IF_ERROR(warm_up());
    SettingSearch search(
        result_.space.axes, result_.space.settings, result_.space.priors,
        {.budget = options_.budget, .spent = options_.warm_ups + 2 * kLeastRounds});
    for (auto next = search.next(); next.has_value(); next = search.next()) {
      progress_.advance(static_cast<double>(search.runs()), static_cast<double>(search.budget()),
                        "runs");
      DFSIM_ASSIGN_OR_RETURN(const std::optional<double> cost, run_once(*next));
      if (cost.has_value()) {
        search.add(*next, *cost);
      } else {
        search.add_failure(*next);
      }
    }
    result_.search_runs = search.runs();
    result_.noise = search.noise();
    result_.repeats = search.repeats();
    result_.best = place_of(search.best());
    DFSIM_RETURN_IF_ERROR(compare(search.best()));
    return std::move(result_);
  }

 private:
  void name_unit() {
    const bool batches = std::any_of(result_.space.knobs.begin(), result_.space.knobs.end(),
                                     [](const CommandKnob& knob) { return knob.name == "batch"; });
    const char* per = batches && !options_.fixed_work ? "sample" : "run";
    if (!options_.rate_metric.empty()) {
      result_.unit = "s per sample";
    } else if (!options_.time_metric.empty()) {
      result_.unit = fmt::format("the metric per {}", per);
    } else {
      result_.unit = fmt::format("s per {}", per);
    }
  }

  double samples(const SettingIndex& setting) const {
    return options_.fixed_work ? 1 : static_cast<double>(result_.space.number(setting, "batch", 1));
  }

  size_t place_of(size_t setting) {
    const auto found = places_.find(setting);
    if (found != places_.end()) {
      return found->second;
    }
    places_[setting] = result_.measured.size();
    result_.measured.emplace_back().setting = setting;
    return result_.measured.size() - 1;
  }

  StatusOr<CommandRun> execute(const SettingIndex& setting) {
    const std::string text = command_setting_text(result_.space, setting);
    DFSIM_RETURN_IF_ERROR(progress_.stage("running " + text));
    DFSIM_ASSIGN_OR_RETURN(const std::vector<CommandCopy> copies, result_.space.copies(setting));
    return run_copies(copies, options_.limit_s);
  }

  // The first runs fill the caches of files and the processor's frequency settles; they also show
  // whether the command works at all.
  Status warm_up() {
    const SettingIndex& usual = result_.space.settings.front();
    for (size_t i = 0; i < options_.warm_ups; ++i) {
      DFSIM_ASSIGN_OR_RETURN(const CommandRun run, execute(usual));
      ++result_.warm_ups;
      DFSIM_RETURN_IF_ERROR(check_default(run));
    }
    return ok_status();
  }

  Status check_default(const CommandRun& run) const {
    if (!run.failure.empty()) {
      return invalid_input(
          fmt::format("{}: {}; the command must work under its default setting{}",
                      printable(options_.command[0]), run.failure,
                      run.failure.starts_with("ran for") ? ", within the time of --limit" : ""));
    }
    return metric_.cost(run, 1).status().with_place(options_.rate_metric.empty() ? "--metric"
                                                                                 : "--rate");
  }

  // None when the setting does not work.
  StatusOr<std::optional<double>> run_once(size_t index) {
    const SettingIndex& setting = result_.space.settings[index];
    DFSIM_ASSIGN_OR_RETURN(const CommandRun run, execute(setting));
    if (index == 0) {
      DFSIM_RETURN_IF_ERROR(check_default(run));
    }
    CommandMeasured& measured = result_.measured[place_of(index)];
    measured.failure = run.failure;
    std::optional<double> cost;
    if (run.failure.empty()) {
      const StatusOr<double> found = metric_.cost(run, samples(setting));
      if (found.ok()) {
        cost = *found;
      } else {
        measured.failure = found.status().message();
      }
    }
    const std::string text = command_setting_text(result_.space, setting);
    if (!cost.has_value()) {
      progress_.note(fmt::format("{}: {}", text, measured.failure));
      return cost;
    }
    const auto before = static_cast<double>(measured.costs.size());
    measured.costs.push_back(*cost);
    measured.cpu_share =
        (measured.cpu_share * before + run.cpu_s / std::max(run.wall_s, 1e-9)) / (before + 1);
    measured.counters = run.counters;
    result_.no_counters = run.no_counters;
    progress_.note(fmt::format("{}: {:.4g} {}", text, *cost, result_.unit));
    return cost;
  }

  // The best and the default in turns, so that both see the same machine, until the interval of
  // their ratio leaves 1 out or more rounds would not help.
  Status compare(size_t best) {
    if (best == 0) {
      return ok_status();
    }
    std::vector<double> logs;
    while (logs.size() < kMostRounds) {
      progress_.advance(static_cast<double>(logs.size()), static_cast<double>(kMostRounds),
                        "rounds");
      DFSIM_ASSIGN_OR_RETURN(const std::optional<double> usual, run_once(0));
      DFSIM_ASSIGN_OR_RETURN(const std::optional<double> other, run_once(best));
      result_.comparison_runs += 2;
      if (!other.has_value()) {
        return failed(fmt::format("{}: worked before and fails now: {}",
                                  command_setting_text(result_.space, result_.space.settings[best]),
                                  result_.measured[place_of(best)].failure));
      }
      logs.push_back(std::log(*usual / *other));
      if (logs.size() >= kLeastRounds && is_decided(logs)) {
        break;
      }
    }
    return ok_status();
  }

  // True when the ratio is decided.
  bool is_decided(const std::vector<double>& logs) {
    const double mean = mean_of(logs);
    const double deviation = pooled_deviation({logs});
    const double half =
        kStudent[logs.size() - 2] * deviation / std::sqrt(static_cast<double>(logs.size()));
    result_.ratio = std::exp(mean);
    result_.ratio_low = std::exp(mean - half);
    result_.ratio_high = std::exp(mean + half);
    result_.decided = result_.ratio_low > 1 || result_.ratio_high < 1;
    return result_.decided;
  }

  const CommandTuneOptions& options_;
  CommandMetric metric_;
  const Progress& progress_;
  CommandTuneResult result_;
  std::map<size_t, size_t> places_;  // of settings in result_.measured
};

}  // namespace

StatusOr<CommandTuneResult> tune_command(const CommandTuneOptions& options,
                                         const Progress& progress) {
  if (options.command.empty()) {
    return invalid_input("command: found none, expected a program and its arguments");
  }
  const bool is_rate = !options.rate_metric.empty();
  if (is_rate && !options.time_metric.empty()) {
    return invalid_input("--metric and --rate: found both, expected one");
  }
  auto metric = CommandMetric::make(is_rate ? options.rate_metric : options.time_metric, is_rate);
  if (!metric.ok()) {
    return metric.status().with_place(is_rate ? "--rate" : "--metric");
  }
  return CommandTuner(options, std::move(metric).value(), progress).run();
}

}  // namespace dfsim::inline study
