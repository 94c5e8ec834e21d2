// Roofline: what rate each operator of a model or trace reaches and what limits it, for one size or
// over a sweep.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "study/progress.h"
#include "study/roofline/roofline.h"
#include "study/roofline/roofline_source.h"
#include "study/roofline/trajectory.h"

namespace dfsim::inline study {

struct RooflineOptions {
  RooflineSource source;
  std::vector<std::string> sweep;  // at most three, as parse_sweep() reads them
};

struct RooflineStudy {
  std::string swept;                      // what trajectories run over; "" = no sweep
  std::vector<RooflineReport> rooflines;  // one, or one per swept value
  std::vector<Trajectory> lines;
};

// Errors: those of load_roofline() and parse_sweep(), a sweep over a trace, Progress's.
StatusOr<RooflineStudy> study_roofline(const RooflineOptions& options,
                                       const Progress& progress = {});

}  // namespace dfsim::inline study
