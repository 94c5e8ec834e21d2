#include "study/roofline/study_roofline.h"

#include <fmt/format.h>
#include <iterator>
#include <map>
#include <utility>

namespace dfsim::inline study {
namespace {

// The first sweep is what trajectories run over; each value of a second one gives lines of its own.
StatusOr<RooflineStudy> sweep_over(const RooflineOptions& options, RooflineKind kind,
                                   const Progress& progress) {
  std::vector<Sweep> sweeps;
  for (const std::string& text : options.sweep) {
    DFSIM_ASSIGN_OR_RETURN(Sweep sweep, parse_sweep(text));
    sweeps.push_back(std::move(sweep));
  }
  if (kind == RooflineKind::kTrace) {
    return invalid_input("--sweep: a trace has one size and one machine; give a model or runs");
  }
  if (sweeps.size() > 2 || (sweeps.size() == 2 && sweeps[0].name == sweeps[1].name)) {
    return invalid_input("--sweep: expected at most two, of different things");
  }
  RooflineStudy swept;
  swept.swept = sweeps[0].name;
  const std::vector<int64_t> none = {0};
  const size_t points = sweeps[0].values.size() * (sweeps.size() > 1 ? sweeps[1].values.size() : 1);
  double done = 0;
  for (const int64_t other : sweeps.size() > 1 ? sweeps[1].values : none) {
    std::vector<RooflineReport> rooflines;
    std::vector<double> values;
    for (const int64_t value : sweeps[0].values) {
      std::map<std::string, int64_t> at = {{sweeps[0].name, value}};
      std::string where = fmt::format("{} {}", sweeps[0].name, value);
      if (other > 0) {
        at[sweeps[1].name] = other;
        where += fmt::format(", {} {}", sweeps[1].name, other);
      }
      DFSIM_RETURN_IF_ERROR(
          progress.stage(fmt::format("costing {} at {}", options.source.model.path, where)));
      progress.advance(done++, static_cast<double>(points), "points");
      DFSIM_ASSIGN_OR_RETURN(RooflineReport one, load_roofline(options.source, kind, at, progress));
      rooflines.push_back(std::move(one));
      values.push_back(static_cast<double>(value));
    }
    const SweepKind over = swept.swept == "threads" ? SweepKind::kThreads : SweepKind::kWork;
    for (Trajectory& line : make_trajectories(rooflines, values, over)) {
      line.name += other > 0 ? fmt::format(", {} {}", sweeps[1].name, other) : "";
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
