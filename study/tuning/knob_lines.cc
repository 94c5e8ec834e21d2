// Groups measured settings and compares neighbours.
#include "study/tuning/knob_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

constexpr double kLeastKnobGain = 0.02;  // of log: smaller ones are of no use
constexpr double kStandsOut = 2;         // standard errors

StepReading reading_of_gain(double gain, double noise, size_t runs_a, size_t runs_b) {
  const double error =
      noise * std::sqrt(1 / static_cast<double>(runs_a) + 1 / static_cast<double>(runs_b));
  if (std::abs(std::log(gain)) <= std::max(kLeastKnobGain, kStandsOut * error)) {
    return StepReading::kNoDifference;
  }
  return gain > 1 ? StepReading::kFaster : StepReading::kSlower;
}

std::string other_knobs(const CommandSpace& space, const CommandSetting& values, size_t knob) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < space.knobs.size(); ++i) {
    if (i != knob && space.knobs[i].values.size() > 1) {
      parts.push_back(fmt::format("{} {}", space.knobs[i].name, printable(values[i])));
    }
  }
  return join(parts, ", ");
}

KnobLine line_of(const CommandTuneResult& result, const std::vector<const CommandMeasured*>& points,
                 size_t knob) {
  const CommandSpace& space = result.space;
  KnobLine line;
  line.knob = space.knobs[knob].name;
  for (const CommandMeasured* point : points) {
    const CommandSetting values = space.values(space.settings[point->setting]);
    line.at = other_knobs(space, values, knob);
    line.values.push_back(values[knob]);
    line.costs.push_back(mean_of(point->costs));
    if (line.costs.size() > 1) {
      const size_t n = line.costs.size();
      KnobStep step;
      step.from = line.values[n - 2];
      step.to = line.values[n - 1];
      step.gain = line.costs[n - 2] / line.costs[n - 1];
      step.reading = reading_of_gain(step.gain, result.noise, points[n - 2]->costs.size(),
                                     point->costs.size());
      line.steps.push_back(std::move(step));
    }
  }
  return line;
}

}  // namespace

std::vector<size_t> one_knob_group(const std::vector<KnobPlaces>& settings, size_t knob,
                                   size_t best) {
  std::map<KnobPlaces, std::vector<size_t>> groups;
  for (size_t i = 0; i < settings.size(); ++i) {
    KnobPlaces others = settings[i];
    others[knob] = 0;
    groups[std::move(others)].push_back(i);
  }
  std::vector<size_t> found;
  const auto has_best = [best](const std::vector<size_t>& group) {
    return std::find(group.begin(), group.end(), best) != group.end();
  };
  for (auto& [others, group] : groups) {
    const bool better =
        group.size() > found.size() || (group.size() == found.size() && !has_best(found) &&
                                        (has_best(group) || group.front() < found.front()));
    if (group.size() > 1 && better) {
      found = group;
    }
  }
  std::sort(found.begin(), found.end(),
            [&](size_t a, size_t b) { return settings[a][knob] < settings[b][knob]; });
  return found;
}

std::vector<KnobLine> knob_lines(const CommandTuneResult& result) {
  std::vector<const CommandMeasured*> working;
  std::vector<KnobPlaces> settings;
  size_t best = 0;
  for (size_t i = 0; i < result.measured.size(); ++i) {
    const CommandMeasured& measured = result.measured[i];
    if (measured.failure.empty() && !measured.costs.empty()) {
      best = i == result.best ? working.size() : best;
      working.push_back(&measured);
      const SettingIndex& setting = result.space.settings[measured.setting];
      settings.emplace_back(setting.begin(), setting.end());
    }
  }
  std::vector<KnobLine> lines;
  for (size_t knob = 0; knob < result.space.knobs.size(); ++knob) {
    std::vector<const CommandMeasured*> points;
    for (const size_t i : one_knob_group(settings, knob, best)) {
      points.push_back(working[i]);
    }
    if (points.size() > 1) {
      lines.push_back(line_of(result, points, knob));
    }
  }
  return lines;
}

}  // namespace dfsim::inline study
