// Trajectories: lines of points under the roofline over a swept setting, with a reading per step.
//
// A line runs through (log2 I, log2 P), one for the network and one per operator class. Steps of
// more work and of more threads are read as Ibrahim, Williams, Oliker 2020
// (doi:10.1109/PMBS51919.2020.00010) do. Precisions, layouts, placements and pools do the same work
// in another way: their steps compare times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "study/roofline/roofline.h"

namespace dfsim::inline study {

enum class StepReading : uint8_t {
  kIdeal,           // time per unit of work falls as the swept value rises, or stays at full rate
  kBetterReuse,     // intensity rises and the rate with it: weights are shared by more samples
  kOverhead,        // the rate hardly moves and neither roof is near: fixed costs per operator
  kBandwidth,       // at the bandwidth's roof
  kCompute,         // at the compute roof
  kExtraTraffic,    // more bytes per unit of work
  kNoGain,          // more work at once, but no higher rate
  kFitsCache,       // threads: the rate rises faster than their number, with the intensity
  kPartial,         // threads: the rate rises, but by less than half of what was added
  kOversubscribed,  // threads: more of them, and no higher rate
  kBoundOnly,       // a time at either end is the bound itself, so it explains nothing
  kPrior,           // a time at either end is an assumed share of the bound
  kFewerBytes,      // choices: the same work takes less time and moves fewer bytes
  kFaster,          // choices: less time, with as many bytes
  kSlower,          // choices: more time
  kNoDifference,    // choices: the same time
};
// The quantity that a trajectory follows: work per step (batch, a dimension), threads at the same
// work, or another way to do the same work (precision, layout, placement, pools).
enum class SweepKind : uint8_t { kWork, kThreads, kChoice };
std::string_view step_reading_name(StepReading reading);
// The advice, in one line.
std::string_view step_advice(StepReading reading);

struct TrajectoryStep {
  double from = 0;  // swept values; places in the sweep where values are names
  double to = 0;
  std::string from_name;  // "" = values are numbers
  std::string to_name;
  double dx = 0;           // of log2 intensity
  double dy = 0;           // of log2 rate
  double dt = 0;           // of log2 time: negative when it falls
  double efficiency = 0;   // dy over log2 of the values' ratio; 0 for names
  double of_compute = 0;   // rate over peak, at `to`
  double of_memory = 0;    // bytes per second over bandwidth, at `to`
  bool same_work = false;  // a choice: the gain is that of the time
  StepReading reading = StepReading::kIdeal;

  // How much faster: the ratio of rates, or for choices of times.
  double gain() const;
};

struct Trajectory {
  std::string name;                 // "network" or an operator class
  std::string at;                   // the values of further sweeps: "batch 4"; "" = none
  std::vector<RoofPoint> points;    // in order of the swept value
  std::vector<std::string> values;  // of the points, as text
  std::vector<TrajectoryStep> steps;

  // "network, batch 4".
  std::string label() const { return at.empty() ? name : name + ", " + at; }
};

// The swept values: numbers, which rise, or names.
struct SweptValues {
  std::vector<double> numbers;
  std::vector<std::string> names;  // empty = numbers
};

// One line for the network and one for each class that holds at least `min_share` of any point's
// time. `rooflines` and `values` go together, at least two.
std::vector<Trajectory> make_trajectories(const std::vector<RooflineReport>& rooflines,
                                          const SweptValues& values,
                                          SweepKind kind = SweepKind::kWork,
                                          double min_share = 0.02);

}  // namespace dfsim::inline study
