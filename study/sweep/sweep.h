// Sweep: many predictions at once. Points that have something in common share it: a model file is
// imported once for each batch and set of dimensions, rewritten once for each runtime, and each
// distinct operator is costed once for each kind of device.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "study/progress.h"
#include "study/sweep/sweep_options.h"
#include "study/sweep/sweep_plan.h"
#include "study/sweep/sweep_rows.h"

namespace dfsim::inline study {

struct SweepResult {
  SweepPlan points;
  SweepRows rows;   // of each point
  size_t kept = 0;  // taken from the journal

  size_t failed() const;
  size_t incomplete() const;  // points whose latency is a lower limit (is_complete)
};

// Predicts every point of `options.part`, which is the whole sweep unless it says otherwise. A
// point that fails is a row with its error. Each row equals predict() of its point, whatever the
// number of threads and whatever the journal held. Errors: those of plan_sweep(); an unknown or
// malformed machine, runtime, policy or cost model; the journal's; Progress's, which leaves
// finished points in the journal. Memory: for each thread the imported and rewritten graphs of one
// model, and a few bytes per point: its number (4), with a journal while it is read also a digest
// (16); rows of a large sweep are on disk (SweepRows).
StatusOr<SweepResult> sweep(const SweepOptions& options, const Progress& progress = {});

// The rows of all parts of a sweep.
struct MergedSweep {
  SweepResult result;
  size_t missing = 0;              // points that no part has; their rows are empty
  std::vector<size_t> incomplete;  // parts, from 0, that lack points
};

// Collects the whole sweep from the journals of its parts, in order of parts; predicts nothing.
// Each point is there once, however often parts ran. A file that does not exist counts as an empty
// one. Errors: those of sweep(); a journal that another version of the program wrote.
StatusOr<MergedSweep> merge_sweep(const SweepOptions& options,
                                  const std::vector<std::string>& journals);

// Removes the journal of a sweep whose table has been written.
Status remove_journal(const SweepOptions& options);

}  // namespace dfsim::inline study
