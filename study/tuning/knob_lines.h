// Lines of measured settings that differ in one knob: the trajectories of a tuning.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "study/roofline/trajectory.h"
#include "study/tuning/command_tune.h"

namespace dfsim::inline study {

// A measured setting as one value per knob, each by its place among the knob's values.
using KnobPlaces = std::vector<size_t>;

// Groups settings that differ in `knob` alone, and returns the group with the most values of it;
// among equals the one with `best`, then the first. Indices in `settings`, by the knob's values;
// empty when no group has two. O(n log n).
std::vector<size_t> one_knob_group(const std::vector<KnobPlaces>& settings, size_t knob,
                                   size_t best);

// Costs along one knob of a command: gains, but no intensity, because its work is not known.
struct KnobStep {
  std::string from;
  std::string to;
  double gain = 1;  // cost before over cost after
  // kFaster or kSlower when the gain stands out of the noise, else kNoDifference.
  StepReading reading = StepReading::kNoDifference;
};
struct KnobLine {
  std::string knob;
  std::string at;                   // the other knobs: "threads 2, placement free"
  std::vector<std::string> values;  // measured ones
  std::vector<double> costs;        // means
  std::vector<KnobStep> steps;
};

// A line for each knob of the command that two measured settings differ in alone. A gain stands out
// when it is more than twice its standard error, by the noise of a run, and more than 2 %.
std::vector<KnobLine> knob_lines(const CommandTuneResult& result);

}  // namespace dfsim::inline study
