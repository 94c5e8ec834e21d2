// Runs a roofline at every point of its sweeps.
#include "study/roofline/study_roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

constexpr size_t kMostSweeps = 3;
constexpr double kLeastClassShare = 0.02;  // of the time, for a line
constexpr double kNetworkAlone = 2;        // which no class has

// All combinations of values of the sweeps behind the first, the last sweep fastest: places of
// values.
std::vector<std::vector<size_t>> other_combinations(const std::vector<Sweep>& sweeps) {
  std::vector<std::vector<size_t>> all = {{}};
  for (size_t i = 1; i < sweeps.size(); ++i) {
    std::vector<std::vector<size_t>> longer;
    for (const std::vector<size_t>& some : all) {
      for (size_t value = 0; value < sweeps[i].values.size(); ++value) {
        longer.push_back(some);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

SweepKind sweep_kind_of(RooflineAxis axis) {
  switch (axis) {
    case RooflineAxis::kSize:
    case RooflineAxis::kProcesses:
      return SweepKind::kWork;
    case RooflineAxis::kThreads:
      return SweepKind::kThreads;
    default:
      return SweepKind::kChoice;
  }
}

SweptValues values_of(const Sweep& sweep) {
  SweptValues values;
  values.numbers.assign(sweep.numbers.begin(), sweep.numbers.end());
  values.names = has_names(sweep.axis) ? sweep.values : std::vector<std::string>();
  return values;
}

StatusOr<std::vector<Sweep>> parse_sweeps(const RooflineOptions& options, RooflineKind kind) {
  std::vector<Sweep> sweeps;
  for (const std::string& text : options.sweep) {
    DFSIM_ASSIGN_OR_RETURN(Sweep sweep, parse_sweep(text));
    if (std::ranges::find(sweeps, sweep.name, &Sweep::name) != sweeps.end()) {
      return invalid_input(
          fmt::format("--sweep: found {} twice, expected different things", printable(sweep.name)));
    }
    sweeps.push_back(std::move(sweep));
  }
  if (kind == RooflineKind::kTrace) {
    return invalid_input("--sweep: a trace has one size and one machine; give a model or runs");
  }
  return sweeps.size() <= kMostSweeps
             ? StatusOr<std::vector<Sweep>>(std::move(sweeps))
             : invalid_input(fmt::format("--sweep: found {} of them, expected at most {}",
                                         sweeps.size(), kMostSweeps));
}

std::string settings_text(const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : settings) {
    parts.push_back(fmt::format("{} {}", name, value));
  }
  return join(parts, ", ");
}

// The first sweep is what trajectories run over; each combination of values of the others gives
// lines of its own.
StatusOr<RooflineStudy> sweep_over(const RooflineOptions& options, RooflineKind kind,
                                   const Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<Sweep> sweeps, parse_sweeps(options, kind));
  const Sweep& first = sweeps.front();
  RooflineStudy swept;
  swept.swept = first.name;
  const auto others = other_combinations(sweeps);
  const auto points = static_cast<double>(first.values.size() * others.size());
  for (const std::vector<size_t>& other : others) {
    RooflineSetting fixed;
    std::vector<std::pair<std::string, std::string>> settings;
    for (size_t i = 0; i < other.size(); ++i) {
      fixed.set(sweeps[i + 1], other[i]);
      settings.emplace_back(sweeps[i + 1].name, sweeps[i + 1].values[other[i]]);
    }
    std::vector<RooflineReport> rooflines;
    for (size_t value = 0; value < first.values.size(); ++value) {
      RooflineSetting at = fixed;
      at.set(first, value);
      std::vector<std::pair<std::string, std::string>> all = {{first.name, first.values[value]}};
      all.insert(all.end(), settings.begin(), settings.end());
      DFSIM_RETURN_IF_ERROR(progress.stage(
          fmt::format("costing {} at {}", options.source.model.path, settings_text(all))));
      progress.advance(static_cast<double>(swept.rooflines.size() + rooflines.size()), points,
                       "points");
      DFSIM_ASSIGN_OR_RETURN(RooflineReport one, load_roofline(options.source, kind, at, progress));
      one.at = std::move(all);
      rooflines.push_back(std::move(one));
    }
    // Operators that run at once take longer each, which says nothing of their class.
    const double least_share =
        first.axis == RooflineAxis::kInter ? kNetworkAlone : kLeastClassShare;
    for (Trajectory& line :
         make_trajectories(rooflines, values_of(first), sweep_kind_of(first.axis), least_share)) {
      line.at = settings_text(settings);
      swept.lines.push_back(std::move(line));
    }
    std::move(rooflines.begin(), rooflines.end(), std::back_inserter(swept.rooflines));
  }
  return swept;
}

}  // namespace

StatusOr<RooflineStudy> study_roofline(const RooflineOptions& options, const Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const RooflineKind kind, roofline_kind(options.source.model.path));
  if (!options.sweep.empty()) {
    return sweep_over(options, kind, progress);
  }
  RooflineStudy study;
  DFSIM_RETURN_IF_ERROR(progress.stage("costing " + options.source.model.path));
  DFSIM_ASSIGN_OR_RETURN(RooflineReport one, load_roofline(options.source, kind, {}, progress));
  progress.decide("roofline", {{"device", one.device_model},
                               {"operators", std::to_string(one.ops.size())},
                               {"above_the_roof", std::to_string(one.above.ops)}});
  study.rooflines.push_back(std::move(one));
  return study;
}

}  // namespace dfsim::inline study
