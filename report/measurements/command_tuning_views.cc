// Text and JSON of tuning a command. Only knobs that have more than one value are shown.
#include "report/measurements/command_tuning_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "study/tuning/knob_lines.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

constexpr size_t kShownSettings = 12;

std::string cost_text(const CommandMeasured& measured, const std::string& unit) {
  const auto [low, high] = std::minmax_element(measured.costs.begin(), measured.costs.end());
  return fmt::format("{:.4g} {} ({:.4g} to {:.4g}, {})", mean_of(measured.costs), unit, *low, *high,
                     counted(measured.costs.size(), "run"));
}

// Knobs with more than one value.
std::vector<size_t> varied_knobs(const CommandSpace& space) {
  std::vector<size_t> varied;
  for (size_t i = 0; i < space.knobs.size(); ++i) {
    if (space.knobs[i].values.size() > 1) {
      varied.push_back(i);
    }
  }
  return varied;
}

// Those that worked, the fastest first.
std::vector<const CommandMeasured*> working(const CommandTuneResult& result) {
  std::vector<const CommandMeasured*> order;
  for (const CommandMeasured& measured : result.measured) {
    if (measured.failure.empty()) {
      order.push_back(&measured);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const CommandMeasured* a, const CommandMeasured* b) {
                     return mean_of(a->costs) < mean_of(b->costs);
                   });
  return order;
}

std::string setting_of(const CommandTuneResult& result, const CommandMeasured& measured) {
  return command_setting_text(result.space, result.space.settings[measured.setting]);
}

std::string per_cycle(const CounterSums& counters) {
  return counters.instructions.has_value() && counters.cycles.value_or(0) > 0
             ? fmt::format("{:.2f}", *counters.instructions / *counters.cycles)
             : "-";
}

std::string ratio_text(const CommandTuneResult& result) {
  if (result.best == 0) {
    return "  ratio     1: nothing that ran is faster than the default\n";
  }
  return fmt::format("  ratio     {:.3g}x the throughput (95 %: {:.3g} to {:.3g}), {}\n",
                     result.ratio, result.ratio_low, result.ratio_high,
                     result.decided ? "run in turns" : "not decided: within the noise");
}

Json setting_json_of(const CommandSpace& space, const SettingIndex& setting) {
  Json json = Json::object();
  for (size_t i = 0; i < space.knobs.size(); ++i) {
    const std::string& value = space.knobs[i].values[setting[i]];
    json[space.knobs[i].name] = space.knobs[i].numbers ? Json(std::stod(value)) : Json(value);
  }
  return json;
}

Json counter_json(const std::optional<double>& counter) {
  return counter.has_value() ? Json(*counter) : Json(nullptr);
}

// Steps of one knob each, the others as they are in the line.
std::string knob_lines_text(const std::vector<KnobLine>& lines) {
  if (lines.empty()) {
    return "";
  }
  TextTable table(
      {{"Knob"}, {"step"}, {"cost", Align::kRight}, {"gain", Align::kRight}, {"reading"}, {"at"}});
  for (const KnobLine& line : lines) {
    for (size_t i = 0; i < line.steps.size(); ++i) {
      const KnobStep& step = line.steps[i];
      const auto value = [](const std::string& text) {
        return text.empty() ? std::string("unset") : printable(text, 24);
      };
      table.add_row({line.knob, fmt::format("{} to {}", value(step.from), value(step.to)),
                     fmt::format("{:.4g}", line.costs[i + 1]), fmt::format("{:.2f}x", step.gain),
                     std::string(step_reading_name(step.reading)), line.at});
    }
  }
  table.drop_empty_columns();
  return "\n" + table.render(80, 2);
}

Json knob_lines_json(const std::vector<KnobLine>& lines) {
  Json list = Json::array();
  for (const KnobLine& line : lines) {
    Json steps = Json::array();
    for (const KnobStep& step : line.steps) {
      steps.push_back({{"from", step.from},
                       {"to", step.to},
                       {"gain", step.gain},
                       {"reading", step_reading_name(step.reading)}});
    }
    list.push_back({{"knob", line.knob},
                    {"at", line.at},
                    {"values", line.values},
                    {"costs", line.costs},
                    {"steps", std::move(steps)}});
  }
  return list;
}

}  // namespace

std::string command_tuning_text(const CommandTuneResult& result) {
  const CommandMeasured& usual = result.measured.front();
  const CommandMeasured& best = result.measured[result.best];
  std::string text = fmt::format("{}\n", join(result.space.command, " "));
  text += fmt::format("  default   {}\n            {}\n", setting_of(result, usual),
                      cost_text(usual, result.unit));
  text += fmt::format("  best      {}\n            {}\n", setting_of(result, best),
                      cost_text(best, result.unit));
  text += ratio_text(result);
  text += fmt::format(
      "  runs      {} ({} search, {} comparison, {} warm-up)\n            {} settings x {} {} for "
      "an exhaustive search; {:.1f} % of it\n",
      result.runs(), result.search_runs, result.comparison_runs, result.warm_ups,
      result.space.settings.size(), result.repeats, result.repeats == 1 ? "run" : "runs",
      100.0 * static_cast<double>(result.runs()) / static_cast<double>(result.exhaustive_runs()));
  text += fmt::format("  noise     {:.1f} % of a run\n", 100 * result.noise);
  if (!result.no_counters.empty()) {
    text += fmt::format("  counters  {}\n", result.no_counters);
  }
  const std::vector<const CommandMeasured*> order = working(result);
  const std::vector<size_t> knobs = varied_knobs(result.space);
  std::vector<TextTable::Column> columns;
  for (const size_t knob : knobs) {
    const bool numbers = result.space.knobs[knob].numbers;
    columns.push_back({result.space.knobs[knob].name, numbers ? Align::kRight : Align::kLeft});
  }
  for (const char* name : {"cost", "ratio", "runs", "cores", "IPC"}) {
    columns.push_back({name, Align::kRight});
  }
  TextTable table(std::move(columns));
  for (size_t i = 0; i < std::min(order.size(), kShownSettings); ++i) {
    std::vector<std::string> row;
    const CommandSetting values = result.space.values(result.space.settings[order[i]->setting]);
    for (const size_t knob : knobs) {
      row.push_back(values[knob].empty() ? "unset" : printable(values[knob]));
    }
    const double cost = mean_of(order[i]->costs);
    row.push_back(fmt::format("{:.4g}", cost));
    row.push_back(fmt::format("{:.2f}", cost / mean_of(usual.costs)));
    row.push_back(std::to_string(order[i]->costs.size()));
    row.push_back(fmt::format("{:.2f}", order[i]->cpu_share));
    row.push_back(per_cycle(order[i]->counters));
    table.add_row(row);
  }
  table.drop_empty_columns();
  text += "\n" + table.render(80, 2) +
          fmt::format("  (cost: {}; ratio: to the default's; cores: processor time over wall)\n",
                      result.unit);
  if (order.size() > kShownSettings) {
    text += fmt::format("  and {}\n", counted(order.size() - kShownSettings, "slower setting"));
  }
  text += knob_lines_text(knob_lines(result));
  for (const CommandMeasured& measured : result.measured) {
    if (!measured.failure.empty()) {
      text += fmt::format("  failed: {}: {}\n", setting_of(result, measured), measured.failure);
    }
  }
  return text;
}

std::string command_tuning_json(const CommandTuneResult& result) {
  Json settings = Json::array();
  for (const CommandMeasured& measured : result.measured) {
    const CommandSpace& space = result.space;
    settings.push_back(
        {{"setting", setting_json_of(space, space.settings[measured.setting])},
         {"costs", measured.costs},
         {"mean", measured.costs.empty() ? Json(nullptr) : Json(mean_of(measured.costs))},
         {"cores_used", measured.cpu_share},
         {"instructions", counter_json(measured.counters.instructions)},
         {"cycles", counter_json(measured.counters.cycles)},
         {"cache_misses", counter_json(measured.counters.cache_misses)},
         {"failure", measured.failure.empty() ? Json(nullptr) : Json(measured.failure)}});
  }
  const auto setting = [&result](size_t place) {
    return setting_json_of(result.space, result.space.settings[result.measured[place].setting]);
  };
  const Json json = {
      {"schema", "dfsim.tune-command/1"},
      {"command", result.space.command},
      {"unit", result.unit},
      {"default", setting(0)},
      {"best", setting(result.best)},
      {"ratio", result.ratio},
      {"ratio_low", result.ratio_low},
      {"ratio_high", result.ratio_high},
      {"decided", result.decided},
      {"noise", result.noise},
      {"runs",
       {{"search", result.search_runs},
        {"comparison", result.comparison_runs},
        {"warm_up", result.warm_ups},
        {"exhaustive", result.exhaustive_runs()}}},
      {"no_counters", result.no_counters.empty() ? Json(nullptr) : Json(result.no_counters)},
      {"settings", std::move(settings)},
      {"trajectories", knob_lines_json(knob_lines(result))}};
  return json.text();
}

}  // namespace dfsim::inline report
