// Trajectories of a tuned model: measured times under the roofs, over each knob of the search.
#pragma once

#include <string>
#include <vector>

#include "study/roofline/roofline_source.h"
#include "study/roofline/trajectory.h"
#include "study/tuning/tune_search.h"

namespace dfsim::inline study {

// Measured settings that differ in one knob.
struct TuneLine {
  std::string swept;                  // threads, inter, pinning, layout, batch
  std::string at;                     // the other knobs, as tune_setting_text() has them
  std::vector<Trajectory> lines;      // none where fewer than two settings have roofs
  std::vector<std::string> left_out;  // settings without roofs: "threads 4: why"
};

// A line for each knob in which two measured settings differ alone; for levels of optimisation only
// the last step, which puts images into blocks of channels ("layout"). `default_ms` is the time of
// candidate 0. Thread counts without a hardware file have the roofs of thread_scaling.h; a setting
// without any is left out of its line, which says so.
std::vector<TuneLine> tune_lines(const RooflineSource& source,
                                 const std::vector<TuneCandidate>& candidates, size_t best,
                                 double default_ms);

}  // namespace dfsim::inline study
