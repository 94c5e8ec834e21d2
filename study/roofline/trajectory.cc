// Steps of a trajectory are read by how intensity, rate and time moved.
#include "study/roofline/trajectory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace dfsim::inline study {
namespace {

const ComputeRoof* roof_for(const RooflineReport& roofline, const RoofPoint& point) {
  for (const ComputeRoof& roof : roofline.roofs) {
    if (roof.dtype == point.dtype && roof.matrix == point.matrix) {
      return &roof;
    }
  }
  return nullptr;
}

constexpr double kNear = 0.8;   // of a roof: at it
constexpr double kStill = 0.1;  // of log2: 7 %

StepReading read_step(const TrajectoryStep& step) {
  if (step.of_compute > kNear) {
    return StepReading::kCompute;
  }
  if (step.of_memory > kNear && step.dy < step.dx + kStill) {
    return StepReading::kBandwidth;
  }
  if (step.dx < -kStill) {
    return StepReading::kExtraTraffic;
  }
  if (step.dy <= kStill) {
    return step.of_memory > 0.5 || step.of_compute > 0.5 ? StepReading::kNoGain
                                                         : StepReading::kOverhead;
  }
  return step.dx > kStill ? StepReading::kBetterReuse : StepReading::kIdeal;
}

// More threads at the same work: `efficiency` is the speed-up per doubling.
StepReading read_thread_step(const TrajectoryStep& step) {
  constexpr double kGood = 0.8;
  constexpr double kPoor = 0.5;
  if (step.dy <= 0) {
    return StepReading::kOversubscribed;
  }
  if (step.dx > kStill && step.efficiency > 1) {
    return StepReading::kFitsCache;
  }
  if (step.efficiency >= kGood && step.dx >= -kStill) {
    return StepReading::kIdeal;
  }
  if (step.of_compute > kNear) {
    return StepReading::kCompute;
  }
  if (step.of_memory > kNear) {
    return StepReading::kBandwidth;
  }
  if (step.dx < -kStill) {
    return StepReading::kExtraTraffic;
  }
  return step.efficiency < kPoor ? StepReading::kOverhead : StepReading::kPartial;
}

// The same work in another way. `bytes` is the change of log2 bytes.
StepReading read_choice(const TrajectoryStep& step, double bytes) {
  if (step.dt > kStill) {
    return StepReading::kSlower;
  }
  if (step.dt >= -kStill) {
    return StepReading::kNoDifference;
  }
  return bytes < -kStill ? StepReading::kFewerBytes : StepReading::kFaster;
}

// The step between two points, the second of them in `roofline`.
TrajectoryStep step_between(const RoofPoint& a, const RoofPoint& b, const RooflineReport& roofline,
                            SweepKind kind) {
  TrajectoryStep step;
  step.dx = std::log2(b.intensity() / a.intensity());
  step.dy = std::log2(b.flops_per_s() / a.flops_per_s());
  step.dt = std::log2(b.time_s / a.time_s);
  step.same_work = kind == SweepKind::kChoice;
  const ComputeRoof* roof = roof_for(roofline, b);
  step.of_compute = roof == nullptr ? 0 : b.flops_per_s() / roof->flops_per_s;
  step.of_memory = roofline.bytes_per_s > 0 ? b.bytes_per_s() / roofline.bytes_per_s : 0;
  return step;
}

StepReading reading_of(const RoofPoint& a, const RoofPoint& b, const TrajectoryStep& step,
                       SweepKind kind) {
  if (!a.explains() || !b.explains()) {
    const bool prior = a.source != CostSource::kBoundOnly && b.source != CostSource::kBoundOnly;
    return prior ? StepReading::kPrior : StepReading::kBoundOnly;
  }
  if (kind == SweepKind::kChoice) {
    return read_choice(step, std::log2(b.bytes / a.bytes));
  }
  return kind == SweepKind::kThreads ? read_thread_step(step) : read_step(step);
}

// The network's points, or those of a class, with the places of their rooflines.
std::vector<size_t> add_points(const std::vector<RooflineReport>& rooflines, Trajectory* line) {
  std::vector<size_t> at;
  for (size_t i = 0; i < rooflines.size(); ++i) {
    const auto& classes = rooflines[i].classes;
    const auto it = std::ranges::find(classes, line->name, &RoofPoint::name);
    if (line->name == "network" || it != classes.end()) {
      line->points.push_back(line->name == "network" ? rooflines[i].network : *it);
      at.push_back(i);
    }
  }
  return at;
}

// The network and the classes that are worth a line.
std::vector<std::string> line_names(const std::vector<RooflineReport>& rooflines,
                                    double min_share) {
  std::vector<std::string> names = {"network"};
  for (const RooflineReport& roofline : rooflines) {
    for (const RoofPoint& point : roofline.classes) {
      if (point.share >= min_share &&
          std::find(names.begin(), names.end(), point.name) == names.end()) {
        names.push_back(point.name);
      }
    }
  }
  return names;
}

}  // namespace

std::string_view step_reading_name(StepReading reading) {
  constexpr std::array<std::string_view, 16> kNames = {
      "ideal",       "better-reuse", "overhead", "bandwidth-roof", "compute-roof", "extra-traffic",
      "no-gain",     "fits-cache",   "partial",  "oversubscribed", "bound-only",   "prior",
      "fewer-bytes", "faster",       "slower",   "no-difference"};
  return kNames[static_cast<size_t>(reading)];
}

std::string_view step_advice(StepReading reading) {
  constexpr std::array<std::string_view, 16> kAdvice = {
      "go on: the rate grows with the work",
      "go on: each byte is used by more samples",
      "a larger step, fusion or a compiled graph: fixed costs dominate",
      "fewer bytes: lower precision, fusion",
      "a better kernel, a lower precision or another device",
      "smaller working sets: the bytes per sample grow",
      "step back: the rate does not grow, but latency and memory do",
      "keep: the working set of each thread fits its cache now",
      "part of the work is serial: fusion, a larger batch, inter-op threads",
      "step back: more threads than the work or the cores can use",
      "the times are the bound itself and explain nothing: measure, or name a trained model",
      "the times are assumed shares of the bound: measure, or name a trained model",
      "keep: the same work moves fewer bytes",
      "keep: the same work takes less time",
      "step back: the same work takes more time",
      "either: the time hardly changes",
  };
  return kAdvice[static_cast<size_t>(reading)];
}

double TrajectoryStep::gain() const { return std::exp2(same_work ? -dt : dy); }

std::vector<Trajectory> make_trajectories(const std::vector<RooflineReport>& rooflines,
                                          const SweptValues& values, SweepKind kind,
                                          double min_share) {
  const bool named = !values.names.empty();
  std::vector<Trajectory> lines;
  for (const std::string& name : line_names(rooflines, min_share)) {
    Trajectory line;
    line.name = name;
    const std::vector<size_t> at = add_points(rooflines, &line);
    for (const size_t place : at) {
      line.values.push_back(named ? values.names[place]
                                  : fmt::format("{:g}", values.numbers[place]));
    }
    for (size_t i = 1; i < line.points.size(); ++i) {
      const RoofPoint& a = line.points[i - 1];
      const RoofPoint& b = line.points[i];
      if (a.flops <= 0 || b.flops <= 0 || a.time_s <= 0 || b.time_s <= 0) {
        continue;
      }
      TrajectoryStep step = step_between(a, b, rooflines[at[i]], kind);
      step.from = named ? static_cast<double>(at[i - 1]) : values.numbers[at[i - 1]];
      step.to = named ? static_cast<double>(at[i]) : values.numbers[at[i]];
      if (named) {
        step.from_name = values.names[at[i - 1]];
        step.to_name = values.names[at[i]];
      } else {
        step.efficiency = step.dy / std::log2(step.to / step.from);
      }
      step.reading = reading_of(a, b, step, kind);
      line.steps.push_back(std::move(step));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace dfsim::inline study
